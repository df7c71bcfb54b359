// `npm run vectors -- [--self-check] DIR [AREA...]`: the vector runner, prepared as far as needed.
import { bootstrapDevelopment, orExit } from './bootstrap.mjs';

process.setSourceMapsEnabled(true);
await orExit('vectors', bootstrapDevelopment);
await import('../dist/test/vectors/main.js');
