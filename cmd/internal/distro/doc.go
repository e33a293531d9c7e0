// Package distro says which package of the distribution a program belongs to, by
// the lists of files that dpkg keeps.
//
// It reads lists and runs nothing. What it says is no proof against root: root
// alone can change both a program and the list, and the lists have MD5 digests.
// It says that a program is what its package holds, and was not changed by hand.
// Where there are no lists of dpkg it knows no package.
package distro
