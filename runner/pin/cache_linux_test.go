package pin

import (
	"os"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// farFuture finds every change settled.
func farFuture() time.Time { return time.Now().Add(time.Hour) }

func TestDigestOfARootOwnedFileIsRemembered(t *testing.T) {
	asRoot(t)
	dir, err := os.MkdirTemp("/opt", "pin-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	mode(t, dir, 0o755)
	path := put(t, dir+"/tool", "one", 0o755)
	cache := NewCache(farFuture)
	see := func() jobspec.Digest {
		return open(t, dropped(), Options{Cache: cache}, script(path)).Observation(0).SHA256
	}
	first := see()
	if first != jobspec.DigestOf([]byte("one")) || len(cache.seen) != 1 {
		t.Fatalf("digest %s, %d remembered", first, len(cache.seen))
	}
	for s := range cache.seen {
		cache.seen[s] = jobspec.DigestOf([]byte("from the cache"))
	}
	if got := see(); got != jobspec.DigestOf([]byte("from the cache")) {
		t.Errorf("hashed again: %s", got)
	}
	put(t, path, "two", 0o755)
	old := time.Unix(1000, 0)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if got := see(); got != jobspec.DigestOf([]byte("two")) {
		t.Errorf("a changed file of the same size has digest %s", got)
	}
}

func TestFreshOrChangeableFilesAreNotRemembered(t *testing.T) {
	cache := NewCache(time.Now)
	path := put(t, folder(t)+"/f", "x", 0o755)
	open(t, here(), Options{Cache: cache}, script(path))
	cache.remember(stamp{ctime: time.Now().UnixNano()}, jobspec.Digest{1})
	cache.remember(stamp{ctime: time.Now().Add(time.Hour).UnixNano()}, jobspec.Digest{1})
	if len(cache.seen) != 0 {
		t.Errorf("%d remembered", len(cache.seen))
	}
}

func TestFullCacheStaysBounded(t *testing.T) {
	cache := NewCache(time.Now)
	for i := range 2*maxCached + 1 {
		cache.remember(stamp{size: int64(i)}, jobspec.Digest{1})
	}
	if n := len(cache.seen); n == 0 || n > maxCached {
		t.Errorf("%d remembered", n)
	}
}
