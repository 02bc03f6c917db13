//! Messages of one window as plain integers, which the calendar keeps and sorts.
#![allow(unsafe_code, reason = "a number that was a message becomes that message again")]

use super::{EventClass, Frame, Payload};
use farspan_units::{Duration, Time};
use std::marker::PhantomData;

/// A message that travels between nodes, as a number below 2^32 - 1.
pub(crate) trait Message: Copy {
    /// The number.
    fn number(self) -> u32;

    /// The message with this number.
    ///
    /// # Safety
    /// `number` is the [`Self::number`] of a message that is under way.
    unsafe fn from_number(number: u32) -> Self;
}

/// Bits of a message in a packed key.
const MSG_BITS: u32 = 32;
/// Bits of the channel's rank among those that end at a node.
const RANK_BITS: u32 = 10;
/// Below the time: class, rank, message.
const TIME_SHIFT: u32 = MSG_BITS + RANK_BITS + 1;
/// Bits of the picoseconds into a window.
pub(super) const WINDOW_BITS: u32 = 64 - TIME_SHIFT;
/// Set beside the rank of what is not a [`Frame`]: at one instant frames come first.
pub(super) const IS_MESSAGE: u16 = 1 << RANK_BITS;
/// Links that can end at one node.
pub(crate) const MAX_LINKS: usize = 1 << RANK_BITS;
/// The longest window.
pub(crate) const MAX_WINDOW: Duration = Duration::from_ps((1 << WINDOW_BITS) - 1);

/// A message or a frame: picoseconds into its window, class, rank of its channel, and the message's number or
/// the frame's value. The message's number takes no part in the total order: what is equal otherwise keeps
/// the order in which it was sent.
#[repr(transparent)]
pub(crate) struct Packed<M>(u64, PhantomData<M>);

impl<M> Clone for Packed<M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Packed<M> {}

impl<M: Message> Packed<M> {
    #[inline(always)]
    pub(super) fn message(offset: u64, rank: u16, msg: M) -> Self {
        debug_assert!(rank & IS_MESSAGE != 0, "a rank as a channel has it");
        Self(offset << TIME_SHIFT | u64::from(rank) << MSG_BITS | u64::from(msg.number()), PhantomData)
    }

    pub(super) const fn frame(offset: u64, rank: u16, frame: Frame) -> Self {
        let rank = rank & !IS_MESSAGE;
        Self(offset << TIME_SHIFT | (rank as u64) << MSG_BITS | frame.0 as u64, PhantomData)
    }

    /// When it arrives in a window that begins at `start`.
    #[inline(always)]
    pub(crate) const fn at(self, start: Time) -> Time {
        // The start of a first window may wrap, and this wraps back.
        Time::from_ps(start.as_ps().wrapping_add(self.0 >> TIME_SHIFT))
    }

    /// The channel's rank among those that end at the node.
    #[inline]
    pub(crate) const fn rank(self) -> usize {
        (self.0 >> MSG_BITS) as usize & (MAX_LINKS - 1)
    }

    /// Whether it is a frame.
    #[inline]
    pub(super) const fn is_frame(self) -> bool {
        (self.0 >> MSG_BITS) as u16 & IS_MESSAGE == 0
    }

    /// The class and the payload of the event.
    pub(crate) fn payload(self) -> (EventClass, Payload<M>) {
        if self.is_frame() {
            return (EventClass::Frame, Payload::Frame(Frame(self.low())));
        }
        // SAFETY: the number was packed in `message`, and what a calendar keeps is under way.
        (EventClass::Arrival, Payload::Message(unsafe { M::from_number(self.low()) }))
    }

    /// The message's number, or the frame's value.
    #[inline(always)]
    pub(super) const fn low(self) -> u32 {
        self.0 as u32
    }

    /// Whether it comes after another one, and not just was sent after it.
    #[inline(always)]
    pub(crate) const fn is_after(self, other: Self) -> bool {
        self.0 > other.0 | ((1 << MSG_BITS) - 1)
    }

    /// The order of the message: time, class, rank.
    #[inline(always)]
    pub(super) const fn order(self) -> u64 {
        self.0 >> MSG_BITS
    }

    /// How far to [shift](Self::stretch) where a window of `length` ps is cut into up to `1 << bits` stretches.
    pub(super) const fn shift(length: u64, bits: u32) -> u32 {
        let width = u64::BITS - (length - 1).leading_zeros();
        TIME_SHIFT + width.saturating_sub(bits)
    }

    /// Which stretch of the window it arrives in, modulo a number that is at least their number.
    #[inline(always)]
    pub(super) const fn stretch(self, shift: u32) -> usize {
        (self.0 >> shift) as usize
    }

    /// Whether it arrives before `offset` ps into the window.
    pub(super) const fn is_before(self, offset: u64) -> bool {
        self.0 < offset << TIME_SHIFT
    }

    #[inline(always)]
    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    /// A value for room that holds no message.
    pub(super) const fn filler() -> Self {
        Self(0, PhantomData)
    }

    /// Packed messages from their [`Self::bits`].
    ///
    /// # Safety
    /// What is read of the result are bits of messages that are under way, or of frames.
    #[inline(always)]
    pub(super) const unsafe fn of_bits(bits: &[u64]) -> &[Self] {
        // SAFETY: the type is transparent.
        unsafe { std::slice::from_raw_parts(bits.as_ptr().cast(), bits.len()) }
    }
}

/// A packed message that is known not to be a frame.
#[repr(transparent)]
pub(crate) struct Arriving<M>(Packed<M>);

impl<M> Clone for Arriving<M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Arriving<M> {}

impl<M: Message> Arriving<M> {
    /// Messages, none of which is a frame.
    ///
    /// # Safety
    /// No frame is among them.
    pub(super) const unsafe fn all(messages: &mut [Packed<M>]) -> &mut [Self] {
        // SAFETY: the type is transparent.
        unsafe { std::slice::from_raw_parts_mut(messages.as_mut_ptr().cast(), messages.len()) }
    }

    /// The message.
    #[inline(always)]
    pub(crate) fn get(self) -> M {
        // SAFETY: the number was packed in `Packed::message`, and what a calendar keeps is under way.
        unsafe { M::from_number(self.0.low()) }
    }

    /// See [`Packed::at`].
    #[inline(always)]
    pub(crate) const fn at(self, start: Time) -> Time {
        self.0.at(start)
    }

    /// See [`Packed::rank`].
    #[inline]
    pub(crate) const fn rank(self) -> usize {
        self.0.rank()
    }

    /// See [`Packed::order`].
    #[inline(always)]
    pub(crate) const fn order(self) -> u64 {
        self.0.order()
    }

    /// See [`Packed::is_after`].
    #[inline(always)]
    pub(crate) const fn is_after(self, other: Self) -> bool {
        self.0.is_after(other.0)
    }

    /// The message, before all others.
    pub(crate) const fn before_all(self) -> Self {
        Self(Packed(self.0.low() as u64, PhantomData))
    }
}
