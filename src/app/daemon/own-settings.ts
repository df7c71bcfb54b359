// The settings of this implementation, which the Go kubelet lacks: a small YAML file named by the environment variable KUBELET_TS_CONFIG.
//
//   nativeAddon: required         # or optional (default): whether the agent runs without its addon
//   flightRecorder:
//     file: /var/tmp/kubelet.ndjson
//     maxBytes: 104857600         # the record ends there (default 100 MiB)
//   livePage:                       # off unless it is here
//     address: 127.0.0.1            # of loopback (this is the default)
//     port: 4194                    # (this is the default)
//   images: own                     # or shared: whether unused images may be removed (default: own for the node's kubelet, else shared)
//   node: own                       # or shared: whether this is the node's kubelet, which takes over the pods that it finds and sets the kernel
//                                   # up (default: own with the default root directory or with a kubeconfig, else shared)
//
// Invariant: an unknown field or one of the wrong type is an error that names the field.
import { readFileSync } from 'node:fs';
import type { FlightRecordSettings } from '../../adapters/flight-record/index.js';
import { isLoopback } from '../../adapters/http-server/index.js';
import { parseYaml } from '../../adapters/yaml/index.js';
import { StartRefusal } from '../../ports/start-refusal.js';
import type { LivePageSettings } from './daemon-profile.js';

export interface OwnSettings {
  readonly nativeAddonRequired: boolean;
  readonly flightRecord: FlightRecordSettings | null;
  readonly livePage: LivePageSettings | null;
  /** Whether the runtime's images are this agent's to remove, as where the runtime serves it alone; null: by whose the node is. */
  readonly ownsImages: boolean | null;
  /** Whether this agent is the node's kubelet; null: by its root directory and kubeconfig, see `kubeletProfile`. */
  readonly ownsNode: boolean | null;
}

export const noOwnSettings: OwnSettings = { nativeAddonRequired: false, flightRecord: null, livePage: null, ownsImages: null, ownsNode: null };

/** That of cAdvisor's page on nodes of old. */
const defaultPagePort = 4194;
const defaultBytesMax = 100 * 1024 * 1024;

/** Reads the file at `path`; undefined or '': no file. Throws StartRefusal. */
export function readOwnSettings(path: string | undefined): OwnSettings {
  if (path === undefined || path === '') return noOwnSettings;
  const refuse = (why: string): StartRefusal => new StartRefusal(`KUBELET_TS_CONFIG: ${path}: ${why}`);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
  const document = parseYaml(bytes);
  if (!document.ok) throw refuse(`line ${document.line}: ${document.message}`);
  const repeated = document.duplicateKeys[0];
  if (repeated !== undefined) throw refuse(`${repeated.path} is set twice`);
  if (document.value === null) return noOwnSettings;
  const top = fieldsOf(document.value, '', ['nativeAddon', 'flightRecorder', 'livePage', 'images', 'node'], refuse);
  const { nativeAddon = 'optional', flightRecorder = null, livePage = null, images = null, node = null } = top;
  if (nativeAddon !== 'optional' && nativeAddon !== 'required') throw refuse('nativeAddon: must be optional or required');
  for (const [field, value] of Object.entries({ images, node })) if (value !== null && value !== 'own' && value !== 'shared') throw refuse(`${field}: must be own or shared`);
  return {
    nativeAddonRequired: nativeAddon === 'required',
    flightRecord: flightRecorder === null ? null : flightRecordOf(flightRecorder, refuse),
    livePage: livePage === null ? null : livePageOf(livePage, refuse),
    ownsImages: images === null ? null : images === 'own',
    ownsNode: node === null ? null : node === 'own',
  };
}

function flightRecordOf(value: unknown, refuse: (why: string) => StartRefusal): FlightRecordSettings {
  const { file, maxBytes = defaultBytesMax } = fieldsOf(value, 'flightRecorder', ['file', 'maxBytes'], refuse);
  if (typeof file !== 'string' || !file.startsWith('/')) throw refuse('flightRecorder.file: must be an absolute path');
  if (typeof maxBytes !== 'number' || !Number.isSafeInteger(maxBytes) || maxBytes <= 0) throw refuse('flightRecorder.maxBytes: must be a positive integer');
  return { path: file, bytesMax: maxBytes };
}

function livePageOf(value: unknown, refuse: (why: string) => StartRefusal): LivePageSettings {
  const { address = '127.0.0.1', port = defaultPagePort } = fieldsOf(value, 'livePage', ['address', 'port'], refuse);
  if (typeof address !== 'string' || !isLoopback(address)) throw refuse('livePage.address: must be an address of loopback');
  if (typeof port !== 'number' || !Number.isSafeInteger(port) || port < 0 || port > 65_535) throw refuse('livePage.port: must be a port, 0 to 65535');
  return { address, port };
}

function fieldsOf(value: unknown, path: string, known: readonly string[], refuse: (why: string) => StartRefusal): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse(`${path === '' ? 'the document' : path}: must be a map`);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw refuse(`unknown field ${JSON.stringify(path === '' ? unknown : `${path}.${unknown}`)}`);
  return value as Record<string, unknown>;
}
