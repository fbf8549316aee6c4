/**
 * A script of Python that mounts a file system at a path, and then runs a program. Nothing answers
 * for this file system, so a thread that opens a file in it waits in the kernel, and only the end
 * of its process ends the wait. The arguments are the path, the program and its arguments.
 */
export const WITH_HUNG_MOUNT = `
import ctypes, os, stat, sys
path, *argv = sys.argv[1:]
os.mknod('/dev/fuse', stat.S_IFCHR | 0o600, os.makedev(10, 229))
device = os.open('/dev/fuse', os.O_RDWR)
os.set_inheritable(device, True)
data = f'fd={device},rootmode=40000,user_id=0,group_id=0'.encode()
libc = ctypes.CDLL(None, use_errno=True)
assert libc.mount(b'none', path.encode(), b'fuse', 0, data) == 0, os.strerror(ctypes.get_errno())
os.execvp(argv[0], argv)`
