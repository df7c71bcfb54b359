// The face of the profiling adapter.
export { ProfileInUse, takeCpuProfile, takeHeapProfile } from './v8-profiles.js';
