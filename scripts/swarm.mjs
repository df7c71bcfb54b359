// `npm run swarm -- [--seeds N] [--from S] [--jobs J]`: the swarm, prepared as far as needed.
import { bootstrapDevelopment, orExit } from './bootstrap.mjs';

process.setSourceMapsEnabled(true);
await orExit('swarm', bootstrapDevelopment);
await import('../dist/test/sim/swarm-main.js');
