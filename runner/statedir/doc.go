// Package statedir keeps the folders in which jobs keep something from one run to
// the next.
//
// A folder is ROOT/NAME/data. ROOT and NAME belong to the service; data belongs
// to the account of the job and is all that the job sees. As root NAME has the
// account's group and mode 0710, so that bwrap, which has the account's rights
// and looks up what it mounts by path, gets there and nobody else does.
//
// It promises that nothing of the service's own rights is used on what a job
// made. Everything below data is opened, measured and removed with the file
// system rights of the account that owns it, by descriptor, without following
// links and without leaving the file system that data lies on. A folder that is
// not as it was made is a problem of the observation, and no run gets it.
//
// It refuses to measure more than jobspec.MaxStateEntries files or a tree deeper
// than 64 folders: who cannot say how much there is says that it is too much.
// Removal has no such bound.
//
// It decides nothing. Only cmd may import it; it imports jobspec, pin, the
// standard library and x/sys.
package statedir
