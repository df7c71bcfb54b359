// The face of the time adapter.
export { type ClockSources, type ClockStep, clockJumpMin, hostClockSources, WallAnchoredClock } from './wall-anchored-clock.js';
