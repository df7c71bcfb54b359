// Where the view of the Go kubelet is kept: compressed, since most of it is the same for each pod.
import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Json } from '../admin-client.js';
import { compared } from './comparable.js';

const file = new URL('../../../../test/peer/recordings/kubelet.json.gz', import.meta.url);

export function recordedKubelet(): Json {
  return JSON.parse(gunzipSync(readFileSync(file)).toString('utf8'));
}

export function recordKubelet(view: Json): void {
  writeFileSync(file, gzipSync(JSON.stringify(compared(view)), { level: 9 }));
}
