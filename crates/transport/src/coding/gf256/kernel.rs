//! Which kernel runs.

use super::{GROUP, portable};
use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicU8, Ordering};

/// A way to multiply bytes that this CPU can go.
///
/// A value can only be had from [`Self::best`], [`Self::available`] and [`Self::by_name`], which ask the CPU: that it
/// exists is what makes it safe to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kernel(KernelKind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum KernelKind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Ssse3,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Gfni256,
    #[cfg(target_arch = "x86_64")]
    Gfni512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl KernelKind {
    /// Every kernel of this architecture, the best first.
    #[cfg(target_arch = "x86_64")]
    const ALL: &[Self] = &[Self::Gfni512, Self::Gfni256, Self::Avx2, Self::Ssse3, Self::Portable];
    #[cfg(target_arch = "aarch64")]
    const ALL: &[Self] = &[Self::Neon, Self::Portable];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    const ALL: &[Self] = &[Self::Portable];

    /// Those that the CPU has, the best first.
    fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let features = super::x86::Features::detect();
        Self::ALL.iter().copied().filter(move |kind| match kind {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => features.ssse3,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => features.avx2,
            #[cfg(target_arch = "x86_64")]
            Self::Gfni256 => features.gfni256,
            #[cfg(target_arch = "x86_64")]
            Self::Gfni512 => features.gfni512,
            // The target says so already.
            #[cfg(target_arch = "aarch64")]
            Self::Neon => true,
        })
    }
}

impl Kernel {
    /// The fastest that this CPU has.
    #[must_use]
    pub fn best() -> Self {
        /// The index of the best kind in [`KernelKind::ALL`], counted from 1; 0 until it is known. It is a constant of the
        /// machine, so that whoever asks first changes nothing for others; and asking a virtual machine's CPU can take
        /// microseconds.
        static BEST: AtomicU8 = AtomicU8::new(0);
        if let Some(place) = usize::from(BEST.load(Ordering::Relaxed)).checked_sub(1) {
            return Self(KernelKind::ALL[place]);
        }
        let best = KernelKind::available().next().unwrap_or(KernelKind::Portable);
        let place =
            KernelKind::ALL.iter().position(|kind| *kind == best).unwrap_or(KernelKind::ALL.len() - 1);
        BEST.store(place as u8 + 1, Ordering::Relaxed);
        Self(best)
    }

    /// Every one that this CPU has, the fastest first; the portable one is always there.
    pub fn available() -> impl Iterator<Item = Self> {
        KernelKind::available().map(Self)
    }

    /// The one of this name; `None` if there is none, or this CPU does not have it.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::available().find(|kernel| kernel.name() == name)
    }

    /// The name of the kernel: `portable`, `ssse3`, `avx2`, `gfni256`, `gfni512`, `neon`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            KernelKind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            KernelKind::Ssse3 => "ssse3",
            #[cfg(target_arch = "x86_64")]
            KernelKind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            KernelKind::Gfni256 => "gfni256",
            #[cfg(target_arch = "x86_64")]
            KernelKind::Gfni512 => "gfni512",
            #[cfg(target_arch = "aarch64")]
            KernelKind::Neon => "neon",
        }
    }

    /// Bytes of a vector: less than one is left to the portable kernel.
    const fn vector(self) -> usize {
        match self.0 {
            KernelKind::Portable => 1,
            #[cfg(target_arch = "x86_64")]
            KernelKind::Ssse3 => 16,
            #[cfg(target_arch = "x86_64")]
            KernelKind::Avx2 | KernelKind::Gfni256 => 32,
            #[cfg(target_arch = "x86_64")]
            KernelKind::Gfni512 => 64,
            #[cfg(target_arch = "aarch64")]
            KernelKind::Neon => 16,
        }
    }

    /// Makes up to [`GROUP`] outputs over a range that every input and every output has.
    pub(super) fn run(
        self,
        factors: &[u8],
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
        range: Range<usize>,
    ) {
        const { assert!(GROUP == 4) };
        if let Ok(outputs) = <&mut [_; 1]>::try_from(&mut *outputs) {
            self.run_group(factors, inputs, outputs, range);
        } else if let Ok(outputs) = <&mut [_; 2]>::try_from(&mut *outputs) {
            self.run_group(factors, inputs, outputs, range);
        } else if let Ok(outputs) = <&mut [_; 3]>::try_from(&mut *outputs) {
            self.run_group(factors, inputs, outputs, range);
        } else if let Ok(outputs) = <&mut [_; 4]>::try_from(outputs) {
            self.run_group(factors, inputs, outputs, range);
        }
    }

    fn run_group<const R: usize>(
        self,
        factors: &[u8],
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]; R],
        range: Range<usize>,
    ) {
        // Vector kernels do not look at lengths again.
        assert!(factors.len() == R * inputs.len() && range.start <= range.end);
        assert!(inputs.iter().all(|input| input.len() >= range.end));
        assert!(outputs.iter().all(|output| output.len() >= range.end));
        let kernel = if range.len() < self.vector() { Self(KernelKind::Portable) } else { self };
        if factors[..inputs.len()].iter().all(|&factor| factor == 1) {
            kernel.run_checked::<R, true>(factors, inputs, outputs, range);
        } else {
            kernel.run_checked::<R, false>(factors, inputs, outputs, range);
        }
    }

    /// `SUM`: the factors of the first output are all one.
    fn run_checked<const R: usize, const SUM: bool>(
        self,
        factors: &[u8],
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]; R],
        range: Range<usize>,
    ) {
        #[cfg(target_arch = "aarch64")]
        use super::neon;
        #[cfg(target_arch = "x86_64")]
        use super::x86;
        // SAFETY: a kernel other than the portable one exists only where the CPU has its instructions; `run_group` has
        // checked the lengths.
        #[allow(unused_unsafe, reason = "some architectures have the portable kernel only")]
        unsafe {
            match self.0 {
                KernelKind::Portable => portable::run(factors, inputs, outputs, range),
                #[cfg(target_arch = "x86_64")]
                KernelKind::Ssse3 => x86::ssse3::<R, SUM>(factors, inputs, outputs, range),
                #[cfg(target_arch = "x86_64")]
                KernelKind::Avx2 => x86::avx2::<R, SUM>(factors, inputs, outputs, range),
                #[cfg(target_arch = "x86_64")]
                KernelKind::Gfni256 => x86::gfni256::<R, SUM>(factors, inputs, outputs, range),
                #[cfg(target_arch = "x86_64")]
                KernelKind::Gfni512 => x86::gfni512::<R, SUM>(factors, inputs, outputs, range),
                #[cfg(target_arch = "aarch64")]
                KernelKind::Neon => neon::neon::<R, SUM>(factors, inputs, outputs, range),
            }
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
