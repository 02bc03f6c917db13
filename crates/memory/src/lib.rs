//! The allocator of farspan's binaries. What a run touches lies scattered over tens of megabytes, and with pages of 4 KiB
//! each visit may cost a walk through the page table: on Linux, jemalloc asks for huge pages for all that it maps. Elsewhere
//! it is the system's.
//!
//! Linking this crate chooses it; the program and the Python package do, no library does.
//!
//! ```
//! use farspan_memory as _;
//!
//! // From here on jemalloc serves this allocation, as all others.
//! assert_eq!(vec![1, 2, 3].len(), 3);
//! ```
#![allow(unsafe_code, reason = "jemalloc finds its options by the name of a symbol")]

#[cfg(target_os = "linux")]
mod linux {
    use tikv_jemallocator::Jemalloc;

    #[global_allocator]
    static ALLOCATOR: Jemalloc = Jemalloc;

    /// jemalloc's options, a C string: huge pages where the system gives them to who asks (`opt.thp`).
    // SAFETY: jemalloc reads a pointer to a C string under this name, and nothing else has the name.
    #[unsafe(export_name = "_rjem_malloc_conf")]
    pub static OPTIONS: &[u8; 11] = b"thp:always\0";
}
