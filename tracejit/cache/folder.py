"""The folder of the cache: held by descriptor, below folders in which nobody else can rename.

`held` walks from the root, one component after the other, each opened relative to the descriptor of
the one before it, and refuses one that somebody else could replace: every folder must belong to
root or to this user, and be writable by nobody else, except a sticky one (as /tmp is), in which
others cannot touch what is ours. Root is who owns `/`, too: in a container that knows nothing of
the root outside, that is nobody, and so are the folders that root has made. A symbolic link is
followed by the same walk, never by the kernel of the system. Files are then opened, renamed and
deleted relative to the descriptor, so whatever becomes of the names above it, the folder that was
checked is the folder that is used.

Where the system has no such calls (Windows), names stand in for descriptors and no owner or mode is
checked: what is in a user's own profile is kept from others by its access list.

Problems are `OSError`s: with a number where the system said so, without one where it is trust that
is missing; `words` makes a sentence of both.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

if sys.platform != "win32":
    import grp
    import pwd

BY_DESCRIPTOR = os.name == "posix" and {os.open, os.mkdir, os.unlink} <= os.supports_dir_fd
_LIST = getattr(os, "O_DIRECTORY", 0) | os.O_RDONLY
# Folders that may be entered but not listed (/home is one, on many machines) need O_PATH.
_ENTER = getattr(os, "O_PATH", getattr(os, "O_SEARCH", 0)) | _LIST | getattr(os, "O_NOFOLLOW", 0)
_MOST_LINKS = 40
_SHARED = 0o022
ROOT = 0


class Folder:
    """A folder whose files are reached by name alone; a context manager that lets go of it."""

    def __init__(self, path: Path, descriptor: int | None = None) -> None:
        """The folder that `descriptor` holds, or without one the folder called `path`."""
        self.path = path
        self.descriptor = descriptor

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Close the descriptor."""
        if self.descriptor is not None:
            os.close(self.descriptor)

    def read(
        self,
        name: str,
        most: int,
        *,
        follow: bool = False,
        problem_of: Callable[[os.stat_result, int], str | None] | None = None,
    ) -> tuple[bytes, os.stat_result]:
        """The bytes of a plain file, and its status. Raises `OSError` where `problem_of` finds one
        (by default `distrust`), where there are more than `most` bytes, or, unless links are to be
        `follow`ed, where the name is that of a link."""
        # O_NONBLOCK: opening a named pipe would block; what is no plain file is refused below.
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        flags |= 0 if follow else getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self._at(name), flags, dir_fd=self.descriptor)
        try:
            # Asked of the open file, not of its name: the name may change hands in between.
            status = os.fstat(descriptor)
            problem = (problem_of or distrust)(status, descriptor)
            if not stat.S_ISREG(status.st_mode):
                problem = "it is not a plain file"
            elif problem is None and status.st_size > most:
                problem = f"it takes {status.st_size} bytes, and at most {most} are allowed"
            if problem is not None:
                raise OSError(problem)
            return _bytes_of(descriptor, status.st_size), status
        finally:
            os.close(descriptor)

    def write(self, files: Mapping[str, bytes], mode: int, *, lasting: bool = False) -> None:
        """Put files in place, in their order, once all of them are on the disk: readers see an old
        file or a new one, whole. If `lasting`, also after a power cut."""
        drafts: dict[str, str] = {}
        try:
            for name, data in files.items():
                drafts[name] = self.draft(name, data, mode, lasting=lasting)
            for name, draft in drafts.items():
                self.rename(draft, name)
        except BaseException:
            for draft in drafts.values():
                self.remove(draft)
            raise

    def write_once(self, name: str, data: bytes, mode: int) -> bool:
        """Put `data` at `name`, whole, unless there is such a file; say if there was none."""
        draft = self.draft(name, data, mode)
        try:
            old, new, both = self._at(draft), self._at(name), self.descriptor
            os.link(old, new, src_dir_fd=both, dst_dir_fd=both)
        except FileExistsError:
            return False
        except OSError:  # no hard links here (FAT, some network disks): the last writer wins
            if self.status(name) is not None:
                return False
            self.write({name: data}, mode)
        finally:
            self.remove(draft)
        return True

    def draft(self, name: str, data: bytes, mode: int, *, lasting: bool = False) -> str:
        """The name of a new file with `data`, which nobody else knows of yet."""
        draft = f".{name.removeprefix('.')}.{os.urandom(6).hex()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            made = os.open(self._at(draft), flags, mode, dir_fd=self.descriptor)
            with os.fdopen(made, "wb") as file:
                if mode == 0o600 and hasattr(os, "fchmod"):
                    os.fchmod(made, mode)  # whatever the umask
                file.write(data)
                if lasting:
                    file.flush()
                    os.fsync(made)
        except BaseException:
            self.remove(draft)
            raise
        return draft

    def rename(self, old: str, new: str) -> None:
        """Call a file `new`, in place of what is called so."""
        both = self.descriptor
        os.replace(self._at(old), self._at(new), src_dir_fd=both, dst_dir_fd=both)

    def remove(self, name: str) -> bool:
        """Delete a file and say so; what cannot be deleted, or is gone already, does not count."""
        with suppress(OSError):
            os.unlink(self._at(name), dir_fd=self.descriptor)
            return True
        return False

    def touch(self, name: str) -> None:
        """Set the time of a file to now, where that is possible."""
        with suppress(OSError):
            os.utime(self._at(name), dir_fd=self.descriptor)

    def status(self, name: str) -> os.stat_result | None:
        """Size, time and owner of a file, of a link itself; None if there is none."""
        with suppress(OSError):
            return os.stat(self._at(name), dir_fd=self.descriptor, follow_symlinks=False)
        return None

    def names(self) -> list[str]:
        """The names in the folder, sorted. Empty where the folder cannot be listed."""
        with suppress(OSError):
            if self.descriptor is None:
                return sorted(file.name for file in self.path.iterdir())
            # A descriptor that only enters cannot list.
            listing = os.open(".", _LIST, dir_fd=self.descriptor)
            try:
                return sorted(os.listdir(listing))  # noqa: PTH208
            finally:
                os.close(listing)
        return []

    def _at(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)


def held(path: Path, *, make: bool = False) -> Folder:
    """The folder at the absolute `path`, which only this user can write to.

    With `make`, it and the folders above it are made where they are missing, for this user alone
    whatever the umask. Raises `FileNotFoundError` where there is none, another `OSError` where it
    cannot be trusted.
    """
    if BY_DESCRIPTOR:
        return Folder(path, _walk(path, make))
    if make:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not stat.S_ISDIR(path.stat().st_mode):
        raise OSError("it is not a folder")
    return Folder(path)


def trusted(status: os.stat_result, descriptor: int) -> None:
    """No problem, whoever wrote the file."""


def distrust(status: os.stat_result, descriptor: int) -> str | None:
    """The reason why somebody else may have written a file or folder of ours; None if nobody
    can."""
    if os.name != "posix":
        return None  # Windows has access lists; a user's own folders are private by default.
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if status.st_mode & _SHARED:
        return _writable_by_others(status)
    return None


def distrust_of_shared(
    status: os.stat_result, descriptor: int, owner_of_root: int = ROOT
) -> str | None:
    """The same of what root may have put there for everybody, or our private group may write."""
    if os.name != "posix":
        return None
    if status.st_uid not in (ROOT, os.geteuid(), owner_of_root):
        return "it belongs to another user"
    shared = status.st_mode & _SHARED
    if not shared or (shared == stat.S_IWGRP and is_private_group(status.st_gid, descriptor)):
        return None
    return _writable_by_others(status)


def distrust_of_above(status: os.stat_result, descriptor: int, owner_of_root: int) -> str | None:
    """The reason why somebody else may replace one of our entries in this folder; None if nobody
    can."""
    if status.st_mode & stat.S_ISVTX and status.st_uid in (ROOT, os.geteuid(), owner_of_root):
        return None
    return distrust_of_shared(status, descriptor, owner_of_root)


def is_private_group(group: int, descriptor: int) -> bool:
    """Return whether a group that can write to the open file `descriptor` is this user alone.

    Many systems give each user such a group, and a umask by which it can write to what the user
    makes. An access list shows as rights of the group, too, so there must be none.
    """
    try:
        user, members = pwd.getpwuid(os.geteuid()), grp.getgrgid(group).gr_mem
    except KeyError:
        return False
    if user.pw_gid != group or not set(members) <= {user.pw_name}:
        return False
    if any(other.pw_gid == group and other.pw_uid != user.pw_uid for other in pwd.getpwall()):
        return False
    return not _has_access_list(descriptor)


def words(error: OSError) -> str:
    """The problem with a file or folder."""
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return "it is a symbolic link"
    if isinstance(error, FileNotFoundError):
        return "it does not exist"
    return f"it cannot be read ({error.strerror})" if error.errno else str(error)


def _bytes_of(descriptor: int, size: int) -> bytes:
    """The first `size` bytes of an open file, or as many as there are by now."""
    parts = [os.read(descriptor, size)]
    while parts[-1] and (left := size - sum(map(len, parts))):
        parts.append(os.read(descriptor, left))
    return b"".join(parts) if len(parts) > 1 else parts[0]


def _writable_by_others(status: os.stat_result) -> str:
    return f"others can write to it (mode {stat.S_IMODE(status.st_mode):o}; chmod go-w)"


def _has_access_list(descriptor: int) -> bool:
    """Return whether a file or folder gives rights by name, to users or groups, or cannot be
    asked."""
    if not hasattr(os, "getxattr"):
        return False
    try:
        os.getxattr(descriptor, "system.posix_acl_access")
    except OSError as error:
        if error.errno != errno.EBADF:
            return error.errno not in (errno.ENODATA, errno.ENOTSUP)
    else:
        return True
    try:  # a descriptor that only enters
        listing = os.open(".", _LIST, dir_fd=descriptor)
    except OSError:
        return True
    try:
        return _has_access_list(listing)
    finally:
        os.close(listing)


def _walk(path: Path, make: bool) -> int:
    """The descriptor of the folder at `path`, entered from the root; see the head of the module."""
    root, ahead, behind, links = path.anchor, list(path.parts[:0:-1]), [path.anchor], 0
    descriptor = os.open(root, _ENTER)
    try:
        owner = os.fstat(descriptor).st_uid
        while ahead:
            problem = distrust_of_above(os.fstat(descriptor), descriptor, owner)
            if problem is not None:
                raise OSError(f"{Path(*behind)} above it: {problem}")
            name = ahead.pop()
            below = _entered(descriptor, name, make, owner)
            if isinstance(below, Path):
                links += 1
                if links > _MOST_LINKS:
                    raise OSError("it is a symbolic link that leads nowhere")
                is_absolute = below.is_absolute()
                ahead += below.parts[:0:-1] if is_absolute else below.parts[::-1]
                if not is_absolute:
                    continue
                behind = [root]
                below = os.open(root, _ENTER)
            elif name != "..":
                behind.append(name)
            elif len(behind) > 1:
                behind.pop()
            above, descriptor = descriptor, below  # before a signal comes: what is closed is left
            os.close(above)
        problem = distrust(os.fstat(descriptor), descriptor)
        if problem is not None:
            raise OSError(problem)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _entered(above: int, name: str, make: bool, owner_of_root: int) -> int | Path:
    """The folder `name` in the one that `above` holds, or where the link of that name leads."""
    try:
        return os.open(name, _ENTER, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=above)
            os.chmod(name, 0o700, dir_fd=above)  # whatever the umask
        return os.open(name, _ENTER, dir_fd=above)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
            raise
    status = os.stat(name, dir_fd=above, follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode):
        raise OSError("it is not a folder")
    if status.st_uid not in (ROOT, os.geteuid(), owner_of_root):
        raise OSError(f"{name}, a symbolic link above it, belongs to another user")
    return Path(os.readlink(name, dir_fd=above))
