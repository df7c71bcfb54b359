// A small CSI driver of the node service, for tests and demonstrations: volumes are directories of its own, file systems in images, or devices behind links
// in its directory, published by mounts (root), or without root by a copy of a marker file only. It can be slow, fail, hang, and be restarted.
//
// Invariants: it touches nothing but its directory, its sockets, and the paths in its requests; it unpublishes volumes by the kernel's mount
// table alone, so that a killed driver resumes correctly.
import { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, rmdirSync, rmSync, statfsSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Server, type ServerUnaryCall, type ServiceError, type sendUnaryData } from '@grpc/grpc-js';
import type { PortOf } from '../../ports/operation.js';
import type { MountOperations } from '../../ports/outbound/mounts.js';
import { grpcStatus, stopServer } from '../grpc/index.js';
import { parseMountinfo } from '../native-linux/index.js';
import { csiProtocol, registrationProtocol } from '../plugins/index.js';
import { serveOnSocket } from './serve-on-socket.js';
import { growDevice, growImage, mountImage } from './volume-images.js';

const { NodeService, NodeServiceCapability_RPC_Type: CapabilityType, VolumeUsage_Unit: Unit } = csiProtocol;
const { RegistrationService } = registrationProtocol;
const directoryMode = 0o750;
const markerFile = 'mock-csi-volume.json';
const stopTimeMs = 1_000;
export const mockCsiMethods = [
  'NodeGetInfo',
  'NodeGetCapabilities',
  'NodeStageVolume',
  'NodePublishVolume',
  'NodeUnpublishVolume',
  'NodeUnstageVolume',
  'NodeExpandVolume',
  'NodeGetVolumeStats',
] as const;
export type MockCsiMethod = (typeof mockCsiMethods)[number];

export interface MockCsiOptions {
  readonly driver: string;
  /** The kubelets' plugin directory. */
  readonly pluginsDirectory: string;
  /** A directory a volume, by its handle. */
  readonly dataDirectory: string;
  readonly nodeId: string;
  /** Of the node service, in CSI's spelling. */
  readonly capabilities: readonly string[];
  readonly versions: readonly string[];
  readonly maxVolumes: bigint;
  readonly topology: Readonly<Record<string, string>>;
  /** How volumes are shown; null: by a directory with a marker file, without a mount. */
  readonly mounts: PortOf<MountOperations> | null;
}

/** A fault of a method, for a number of calls. */
export interface MockCsiFault {
  readonly method: MockCsiMethod;
  /** A code of gRPC by number; null: the work is done after the delay. */
  readonly code: number | null;
  readonly message: string;
  /** Infinity: it never answers. */
  readonly delayMillis: number;
  times: number;
}

export interface MockCsiCall {
  readonly method: string;
  readonly request: Readonly<Record<string, unknown>>;
}

export const mockCsiDefaults: Omit<MockCsiOptions, 'driver' | 'pluginsDirectory' | 'dataDirectory'> = {
  nodeId: 'mock-node',
  capabilities: ['STAGE_UNSTAGE_VOLUME'],
  versions: ['1.0.0'],
  maxVolumes: 0n,
  topology: {},
  mounts: null,
};

export class MockCsiDriver {
  /** The most recent ones, oldest first. Without secrets. */
  readonly calls: MockCsiCall[] = [];
  readonly faults: MockCsiFault[] = [];
  /** The kubelets' registration results, the latest last. */
  readonly notifications: { readonly registered: boolean; readonly error: string }[] = [];
  /** The reported condition of each volume; null: none. */
  condition: { readonly abnormal: boolean; readonly message: string } | null = null;
  readonly socket: string;
  private server: Server | null = null;
  private readonly timers = new Set<NodeJS.Timeout>();

  constructor(private readonly options: MockCsiOptions) {
    this.socket = join(options.pluginsDirectory, `${options.driver}-reg.sock`);
  }

  /** Rejects if the socket can't be made. Removes a leftover one. */
  async start(): Promise<void> {
    mkdirSync(dirname(this.socket), { recursive: true, mode: directoryMode });
    mkdirSync(this.options.dataDirectory, { recursive: true, mode: directoryMode });
    if (lstatSync(this.socket, { throwIfNoEntry: false })?.isSocket() === true) rmSync(this.socket);
    const server = new Server();
    server.addService(RegistrationService, {
      getInfo: (_call: unknown, answer: sendUnaryData<unknown>) =>
        answer(null, { type: 'CSIPlugin', name: this.options.driver, endpoint: this.socket, supportedVersions: [...this.options.versions] }),
      notifyRegistrationStatus: ({ request }: ServerUnaryCall<{ pluginRegistered: boolean; error: string }, unknown>, answer: sendUnaryData<unknown>) => {
        this.notifications.push({ registered: request.pluginRegistered, error: request.error });
        answer(null, {});
      },
    });
    server.addService(NodeService, this.methods());
    await serveOnSocket(server, this.socket);
    this.server = server;
  }

  /** Ends, with its socket; volumes stay. A second call has no effect. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = null;
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
    if (server === null) return;
    await stopServer(server, stopTimeMs);
    rmSync(this.socket, { force: true });
  }

  /** The directory of a volume's files. */
  dataOf(volumeId: string): string {
    return join(this.options.dataDirectory, encodeURIComponent(volumeId));
  }

  private methods() {
    const { nodeId, maxVolumes, topology, capabilities } = this.options;
    return {
      nodeGetInfo: this.method('NodeGetInfo', async () => ({ nodeId, maxVolumesPerNode: maxVolumes, accessibleTopology: { segments: { ...topology } } })),
      nodeGetCapabilities: this.method('NodeGetCapabilities', async () => ({
        capabilities: capabilities.map((name) => ({ type: { $case: 'rpc' as const, rpc: { type: CapabilityType[name as keyof typeof CapabilityType] } } })),
      })),
      nodeStageVolume: this.method('NodeStageVolume', async ({ volumeId, stagingTargetPath, volumeCapability }) =>
        isBlock(volumeCapability) ? {} : this.show(text(volumeId), fsTypeOf(volumeCapability), text(stagingTargetPath), []),
      ),
      nodePublishVolume: this.method('NodePublishVolume', async ({ volumeId, stagingTargetPath, targetPath, readonly, volumeCapability }) => {
        if (isBlock(volumeCapability)) return this.showDevice(text(volumeId), text(targetPath));
        const options = readonly === true ? ['ro'] : [];
        if (text(stagingTargetPath) === '' || this.options.mounts === null) return this.show(text(volumeId), fsTypeOf(volumeCapability), text(targetPath), options);
        return this.bind(text(stagingTargetPath), text(targetPath), options);
      }),
      nodeUnpublishVolume: this.method('NodeUnpublishVolume', async ({ targetPath }) => this.hide(text(targetPath), true)),
      nodeUnstageVolume: this.method('NodeUnstageVolume', async ({ stagingTargetPath }) => this.hide(text(stagingTargetPath), false)),
      nodeExpandVolume: this.method('NodeExpandVolume', async ({ volumeId, volumePath, volumeCapability, capacityRange }) => {
        const bytes = (capacityRange as { requiredBytes?: bigint } | undefined)?.requiredBytes ?? 0n;
        return { capacityBytes: await this.grow(text(volumeId), text(volumePath), isBlock(volumeCapability), bytes) };
      }),
      nodeGetVolumeStats: this.method('NodeGetVolumeStats', async ({ volumeId, volumePath }) => {
        // Without mounts the volume is only a marker at its published path.
        const found = statfsSync(this.options.mounts === null ? this.made(text(volumeId)) : text(volumePath), { bigint: true });
        const bytes = { unit: Unit.BYTES, available: found.bavail * found.bsize, total: found.blocks * found.bsize, used: (found.blocks - found.bfree) * found.bsize };
        const inodes = { unit: Unit.INODES, available: found.ffree, total: found.files, used: found.files - found.ffree };
        return { usage: [bytes, inodes], volumeCondition: this.condition ?? undefined };
      }),
    };
  }

  private method(name: MockCsiMethod, work: (request: Readonly<Record<string, unknown>>) => Promise<object>) {
    return ({ request }: ServerUnaryCall<Readonly<Record<string, unknown>>, unknown>, answer: sendUnaryData<unknown>): void => {
      const { secrets, ...seen } = request;
      this.calls.push({ method: name, request: { ...seen, ...(secrets === undefined ? {} : { secretKeys: Object.keys(secrets as object) }) } });
      const fault = this.faults.find(({ method, times }) => method === name && times > 0);
      if (fault !== undefined) fault.times--;
      this.later(fault?.delayMillis ?? 0, () => {
        if (fault !== undefined && fault.code !== null) answer(failure(fault.code, fault.message), null);
        else
          work(request).then(
            (reply) => answer(null, reply),
            (error: unknown) => answer(failure(grpcStatus.INTERNAL, error instanceof Error ? error.message : String(error)), null),
          );
      });
    };
  }

  /** Infinity: hangs. */
  private later(millis: number, work: () => void): void {
    if (millis === Number.POSITIVE_INFINITY) return;
    if (millis === 0) {
      work();
      return;
    }
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      work();
    }, millis);
    this.timers.add(timer);
  }

  private made(volumeId: string): string {
    const path = this.dataOf(volumeId);
    mkdirSync(path, { recursive: true, mode: 0o777 });
    return path;
  }

  private imageOf(volumeId: string): string {
    return `${this.dataOf(volumeId)}.image`;
  }

  private deviceOf(volumeId: string): string {
    return realpathSync(`${this.dataOf(volumeId)}.device`);
  }

  /** A directory volume is as large as its disk, independent of its requested size. */
  private async grow(volumeId: string, path: string, isDevice: boolean, bytes: bigint): Promise<bigint> {
    if (this.options.mounts === null) return bytes;
    if (isDevice) return BigInt(await growDevice(this.deviceOf(volumeId), Number(bytes)));
    const image = this.imageOf(volumeId);
    return existsSync(image) ? BigInt(await growImage(image, path, Number(bytes))) : bytes;
  }

  /** A file system in an image is mounted; else the volume's directory is shown. */
  private async show(volumeId: string, fsType: string, target: string, options: readonly string[]): Promise<object> {
    const image = this.imageOf(volumeId);
    if (this.options.mounts === null || !existsSync(image)) return await this.bind(this.made(volumeId), target, options);
    if (isMounted(target)) return {};
    mkdirSync(target, { recursive: true, mode: directoryMode });
    await mountImage(image, target, fsType, options);
    return {};
  }

  private async bind(source: string, target: string, options: readonly string[]): Promise<object> {
    if (isMounted(target)) return {};
    mkdirSync(target, { recursive: true, mode: directoryMode });
    const { mounts } = this.options;
    if (mounts !== null) await mounts.bind({ source, target, recursive: false, options }, { signal: new AbortController().signal, timeoutMicros: null });
    else writeFileSync(join(target, markerFile), `${JSON.stringify({ source, options })}\n`);
    return {};
  }

  /** The device of a raw block volume is the target of the link `<handle>.device`; published by a bind mount, or by a link without mounts. */
  private async showDevice(volumeId: string, target: string): Promise<object> {
    const device = this.deviceOf(volumeId);
    if (isMounted(target) || lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink() === true) return {};
    const { mounts } = this.options;
    if (mounts === null) symlinkSync(device, target);
    else {
      writeFileSync(target, '');
      await mounts.bind({ source: device, target, recursive: false, options: [] }, { signal: new AbortController().signal, timeoutMicros: null });
    }
    return {};
  }

  /** @param goes removes the directory, too */
  private async hide(target: string, goes: boolean): Promise<object> {
    if (this.options.mounts !== null && isMounted(target))
      await this.options.mounts.unmount({ target, force: false }, { signal: new AbortController().signal, timeoutMicros: null });
    const found = lstatSync(target, { throwIfNoEntry: false });
    if (found === undefined) return {};
    if (!found.isDirectory()) {
      unlinkSync(target);
      return {};
    }
    rmSync(join(target, markerFile), { force: true });
    if (goes) rmdirSync(target);
    return {};
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The driver decides the type of a volume without one. */
function fsTypeOf(capability: unknown): string {
  const accessType = (capability as { readonly accessType?: { readonly $case: string; readonly mount?: { readonly fsType: string } } } | undefined)?.accessType;
  const fsType = accessType?.mount?.fsType ?? '';
  return fsType === '' ? 'ext4' : fsType;
}

function isBlock(capability: unknown): boolean {
  return (capability as { readonly accessType?: { readonly $case: string } } | undefined)?.accessType?.$case === 'block';
}

function isMounted(path: string): boolean {
  return parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).some(({ mountPoint }) => mountPoint === path);
}

function failure(code: number, details: string): Partial<ServiceError> {
  return { code, details };
}
