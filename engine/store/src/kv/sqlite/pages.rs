//! A checksum in each page of the database, kept by a file interface (VFS) below SQLite.
//!
//! The checksum of a row tells that its own bytes are damaged. It cannot tell that a lookup went to
//! the wrong page: the inner pages of a b-tree lead to the rows, and when one of them is damaged
//! its rows are not found. So each page ends with a checksum of its bytes and its place in the
//! file, in bytes that SQLite leaves free when the header of the database says so. A read of a
//! damaged page fails with `SQLITE_IOERR_DATA`.
//!
//! A page in the log has the checksum of its frame, which SQLite verifies when it opens the log and
//! not when it reads the page later. So this interface verifies it at each read: no damaged page is
//! answered, nor moved into the database, where it would get a valid checksum.
//!
//! A page of zeros in the database is let through: SQLite leaves one where a page was allocated and
//! freed before it was written, and takes none for a page of a b-tree.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;
use std::path::Path;
use std::ptr;
use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use rusqlite::{Connection, OpenFlags, ffi};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::super::KvError;
use super::frames::{self, FRAME_HEADER_BYTES};

/// Opens a database with checksums in its pages. A file whose header does not say that its pages
/// have checksums is no database of a store, and neither is an empty one.
pub(super) fn open(file: &Path, flags: OpenFlags) -> Result<Connection, KvError> {
    open_named(file, file, flags)
}

/// Opens a database for reading, without its log. No process may have it open for writing.
pub(super) fn open_immutable(file: &Path, flags: OpenFlags) -> Result<Connection, KvError> {
    let uri = url::Url::from_file_path(std::path::absolute(file)?)
        .map_err(|()| KvError::Failed("its path cannot be used".to_owned()))?;
    let flags = flags | OpenFlags::SQLITE_OPEN_URI;
    open_named(format!("{uri}?immutable=1").as_ref(), file, flags)
}

/// `name` is the path of the file, or the URI of its path.
fn open_named(name: &Path, file: &Path, flags: OpenFlags) -> Result<Connection, KvError> {
    // SQLite removes the log of an empty database, also when it only reads.
    let is_empty = || fs::metadata(file).is_ok_and(|file| file.len() == 0);
    if !flags.contains(OpenFlags::SQLITE_OPEN_CREATE) && is_empty() {
        let file = file.display();
        return Err(KvError::DamagedDatabase(format!("{file} is empty")));
    }
    register()?;
    Ok(Connection::open_with_flags_and_vfs(name, flags, NAME)?)
}

/// Has SQLite leave the bytes of the checksums free in each page of a new database.
pub(super) fn reserve(connection: &Connection) -> Result<(), KvError> {
    let mut bytes = c_int::from(SUM_BYTES as u8);
    // SAFETY: the handle is used while the connection is borrowed, and not closed.
    let database = unsafe { connection.handle() };
    // SAFETY: the database is open, a null name is its main file, and this operation reads and
    // writes an integer.
    let done = unsafe {
        ffi::sqlite3_file_control(
            database,
            ptr::null(),
            ffi::SQLITE_FCNTL_RESERVE_BYTES,
            (&raw mut bytes).cast(),
        )
    };
    match done {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()),
    }
}

/// The default file interface of SQLite.
static BELOW: AtomicPtr<ffi::sqlite3_vfs> = AtomicPtr::new(ptr::null_mut());
/// The methods of a database, and those of its log.
static DATABASE: OnceLock<Methods> = OnceLock::new();
static LOG: OnceLock<Methods> = OnceLock::new();

/// The methods of the interface below and those that are called in their place.
struct Methods {
    below: &'static ffi::sqlite3_io_methods,
    own: ffi::sqlite3_io_methods,
}

/// Registers the interface: all as in the interface below it, except that a database is opened with
/// its own methods.
fn register() -> Result<(), KvError> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    let code = *REGISTERED.get_or_init(|| {
        // SAFETY: a null name asks for the default interface.
        let below = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
        // SAFETY: it is null or points to a registered interface, which is never freed.
        let Some(found) = (unsafe { below.as_ref() }) else {
            return ffi::SQLITE_ERROR;
        };
        BELOW.store(below, Ordering::Release);
        let own = Box::leak(Box::new(ffi::sqlite3_vfs {
            zName: NAME.as_ptr(),
            pNext: ptr::null_mut(),
            xOpen: Some(open_file),
            ..*found
        }));
        // SAFETY: the interface and its name live as long as the program.
        unsafe { ffi::sqlite3_vfs_register(own, 0) }
    });
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(KvError::Failed(format!(
            "SQLite takes no file interface, code {code}"
        ))),
    }
}

unsafe extern "C" fn open_file(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    opened: *mut c_int,
) -> c_int {
    let below = BELOW.load(Ordering::Acquire);
    // SAFETY: this function is registered after `BELOW` was set, to an interface that stays.
    let Some(open) = (unsafe { (*below).xOpen }) else {
        return ffi::SQLITE_CANTOPEN;
    };
    // SAFETY: the arguments come from SQLite, and both interfaces have files of one size.
    let code = unsafe { open(below, name, file, flags, opened) };
    if code != ffi::SQLITE_OK || flags & (ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL) == 0 {
        return code;
    }
    // SAFETY: the file was opened.
    let found = unsafe { (*file).pMethods };
    // SAFETY: an open file points to its methods, which are constants of SQLite.
    let found: &'static ffi::sqlite3_io_methods = unsafe { &*found };
    let is_log = flags & ffi::SQLITE_OPEN_WAL != 0;
    let methods = match is_log {
        true => LOG.get_or_init(|| Methods::of_log(found)),
        false => DATABASE.get_or_init(|| Methods::of_database(found)),
    };
    let refused = match ptr::eq(methods.below, found) {
        false => Some(ffi::SQLITE_CANTOPEN),
        true if is_log || has_checksums(file, found) => None,
        true => Some(ffi::SQLITE_NOTADB),
    };
    if let Some(code) = refused {
        // SAFETY: the file is open, and SQLite does not use one that could not be opened.
        found.xClose.map(|close| unsafe { close(file) });
        return code;
    }
    // SAFETY: as above; the methods live as long as the program.
    unsafe { (*file).pMethods = &raw const methods.own };
    code
}

impl Methods {
    fn of_database(below: &'static ffi::sqlite3_io_methods) -> Self {
        let own = ffi::sqlite3_io_methods {
            iVersion: below.iVersion.min(WITHOUT_MEMORY_MAP),
            xRead: Some(read),
            xWrite: Some(write),
            xDeviceCharacteristics: Some(characteristics),
            ..*below
        };
        Self { below, own }
    }

    fn of_log(below: &'static ffi::sqlite3_io_methods) -> Self {
        let own = ffi::sqlite3_io_methods {
            iVersion: below.iVersion.min(WITHOUT_MEMORY_MAP),
            xRead: Some(read_log),
            ..*below
        };
        Self { below, own }
    }
}

/// Whether the header of a database says that its pages have checksums. A new database has no
/// header yet. The file is read through SQLite: any other descriptor of it would, when it is
/// closed, take the locks of this process away.
fn has_checksums(file: *mut ffi::sqlite3_file, methods: &ffi::sqlite3_io_methods) -> bool {
    let Some(read) = methods.xRead else {
        return false;
    };
    let mut header = [0_u8; HEADER_BYTES];
    let (buffer, bytes) = (header.as_mut_ptr().cast(), HEADER_BYTES as c_int);
    // SAFETY: the file is open, and the buffer has room for so many bytes.
    match unsafe { read(file, buffer, bytes, 0) } {
        ffi::SQLITE_OK => usize::from(header[RESERVED_AT]) == SUM_BYTES,
        // The buffer holds what there is, and zeros behind it.
        ffi::SQLITE_IOERR_SHORT_READ => header.iter().all(|&byte| byte == 0),
        _ => false,
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    bytes: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let Some(read) = DATABASE.get().and_then(|methods| methods.below.xRead) else {
        return ffi::SQLITE_IOERR_READ;
    };
    // SAFETY: the arguments come from SQLite, for the method that it would have called itself.
    let code = unsafe { read(file, buffer, bytes, offset) };
    if code != ffi::SQLITE_OK || !is_page(bytes) {
        return code;
    }
    // SAFETY: the read has filled the buffer.
    let page = unsafe { slice::from_raw_parts(buffer.cast::<u8>(), PAGE_BYTES) };
    match is_whole(page, offset) {
        true => code,
        false => ffi::SQLITE_IOERR_DATA,
    }
}

/// Reads a page or a header of the log. A whole frame is verified by SQLite itself.
unsafe extern "C" fn read_log(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    bytes: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let Some(read) = LOG.get().and_then(|methods| methods.below.xRead) else {
        return ffi::SQLITE_IOERR_READ;
    };
    // SAFETY: the arguments come from SQLite, for the method that it would have called itself.
    let code = unsafe { read(file, buffer, bytes, offset) };
    if code != ffi::SQLITE_OK || !is_page(bytes) {
        return code;
    }
    let mut header = [0_u8; FRAME_HEADER_BYTES];
    let mut before = [0_u8; size_of::<u64>()];
    let places = [
        (&mut header[..], offset - FRAME_HEADER_BYTES as i64),
        (&mut before[..], frames::sums_before(offset)),
    ];
    for (part, at) in places {
        let length = part.len() as c_int;
        // SAFETY: the file is open, and the part has room for so many bytes.
        let code = unsafe { read(file, part.as_mut_ptr().cast(), length, at) };
        if code != ffi::SQLITE_OK {
            return code;
        }
    }
    // SAFETY: the first read has filled the buffer.
    let page = unsafe { slice::from_raw_parts(buffer.cast::<u8>(), PAGE_BYTES) };
    match frames::is_whole(before, &header, page) {
        true => ffi::SQLITE_OK,
        false => ffi::SQLITE_IOERR_DATA,
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    bytes: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let Some(write) = DATABASE.get().and_then(|methods| methods.below.xWrite) else {
        return ffi::SQLITE_IOERR_WRITE;
    };
    if !is_page(bytes) {
        // SAFETY: the arguments come from SQLite, for the method that it would have called itself.
        return unsafe { write(file, buffer, bytes, offset) };
    }
    let mut page = [0; PAGE_BYTES];
    // SAFETY: SQLite passes so many bytes.
    page.copy_from_slice(unsafe { slice::from_raw_parts(buffer.cast::<u8>(), PAGE_BYTES) });
    if let Some((content, sum)) = page.split_last_chunk_mut() {
        *sum = sum_of(content, offset);
    }
    // SAFETY: as above, with a page of the same size.
    unsafe { write(file, page.as_ptr().cast(), bytes, offset) }
}

/// Parts of a page are not read: a checksum needs all of it.
unsafe extern "C" fn characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    let below = DATABASE
        .get()
        .and_then(|methods| methods.below.xDeviceCharacteristics);
    // SAFETY: the file comes from SQLite, for the method that it would have called itself.
    below.map_or(0, |below| unsafe { below(file) }) & !ffi::SQLITE_IOCAP_SUBPAGE_READ
}

fn is_page(bytes: c_int) -> bool {
    usize::try_from(bytes) == Ok(PAGE_BYTES)
}

fn is_whole(page: &[u8], offset: i64) -> bool {
    let whole = page.split_last_chunk();
    whole.is_some_and(|(content, sum)| *sum == sum_of(content, offset))
        || page.iter().all(|&byte| byte == 0)
}

fn sum_of(content: &[u8], offset: i64) -> [u8; SUM_BYTES] {
    xxh3_64_with_seed(content, offset.cast_unsigned()).to_be_bytes()
}

/// Size of a page. At 400 payments a second a flush wrote 55 to 66 kB to the disk with this, and
/// 103 kB with pages of 8 KiB, the logs of both being 16 MiB.
pub(super) const PAGE_BYTES: usize = 4096;
const NAME: &CStr = c"switchyard";
const SUM_BYTES: usize = size_of::<u64>();
/// Length of the header of a database, and the place in it of the bytes that each page has free,
/// as published at <https://sqlite.org/fileformat2.html>.
const HEADER_BYTES: usize = 100;
const RESERVED_AT: usize = 20;
/// The version of the methods of a file before SQLite could map it into memory.
const WITHOUT_MEMORY_MAP: c_int = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_only_as_it_was_written_and_where() {
        let mut page = [7; PAGE_BYTES];
        let (content, sum) = page.split_last_chunk_mut().unwrap();
        *sum = sum_of(content, 8192);
        assert!(is_whole(&page, 8192));
        assert!(!is_whole(&page, 4096), "the place of another page");
        for bit in 0..PAGE_BYTES * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_whole(&page, 8192), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(is_whole(&[0; PAGE_BYTES], 8192), "never written");
    }
}
