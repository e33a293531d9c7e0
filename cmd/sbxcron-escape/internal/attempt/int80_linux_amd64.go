package attempt

// int80 makes a system call of 32-bit programs. Its code is in assembly.
func int80()
