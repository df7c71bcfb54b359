// The face of the time adapter.

export { LoopShare, turnIsSpent } from './loop-share.js';
export { RealTime } from './real-time.js';
export { type ClockSources, type ClockStep, clockJumpMin, hostClockSources, WallAnchoredClock } from './wall-anchored-clock.js';
