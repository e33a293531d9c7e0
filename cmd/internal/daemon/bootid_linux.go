package daemon

import "os"

// BootID is the kernel's id of this boot, "" where there is none (random(4)).
func BootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(b) < 36 {
		return ""
	}
	return string(b[:36])
}
