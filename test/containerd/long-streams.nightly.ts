// Long streams on a real containerd at every place: 64 MiB in every way and protocol, each with every reader.
import t from 'tap';
import { readers } from '../adapters/long-stream-clients.js';
import { places } from '../adapters/long-stream-stand.js';
import { longStreams } from './long-streams.js';
import { skipWithoutContainerd } from './private-containerd.js';

t.setTimeout(3_600_000);
for (const [ordinal, reader] of readers.entries())
  t.test(`64 MiB each way, the first reader ${reader}`, { skip: skipWithoutContainerd(), timeout: 1_800_000 }, (t) => longStreams(t, places, ordinal));
