// A small DRA driver for tests and demonstrations: each claim gets one device, named after the claim, without any hardware. It can be slow, fail, hang,
// and be restarted; it loses its prepared claims with its process, unlike a driver whose state is in the hardware.
//
// Invariant: it touches nothing but its sockets.
import { lstatSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Server, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import type { DraClaimName, DraDevice } from '../../ports/outbound/dra-plugin.js';
import { stopServer } from '../grpc/index.js';
import { draProtocol, registrationProtocol } from '../plugins/index.js';
import { serveOnSocket } from './serve-on-socket.js';

const { DRAPluginService } = draProtocol;
const { RegistrationService } = registrationProtocol;
const directoryMode = 0o750;
const stopTimeMs = 1_000;

export interface MockDraOptions {
  readonly driver: string;
  /** The kubelets' plugin directory. */
  readonly pluginsDirectory: string;
  /** Its supported services. */
  readonly services: readonly string[];
}

export const mockDraDefaults: Pick<MockDraOptions, 'services'> = { services: ['v1.DRAPlugin'] };

/** A fault of a method, for a number of calls. */
export interface MockDraFault {
  readonly method: 'NodePrepareResources' | 'NodeUnprepareResources';
  /** A code of gRPC by number; null: each claim of the call fails with the message. */
  readonly code: number | null;
  readonly message: string;
  /** It never answers. */
  readonly hangs: boolean;
  times: number;
}

export class MockDraDriver {
  /** Oldest first. */
  readonly calls: { readonly method: string; readonly claims: readonly DraClaimName[] }[] = [];
  readonly faults: MockDraFault[] = [];
  /** The kubelets' registration results, the latest last. */
  readonly notifications: { readonly registered: boolean; readonly error: string }[] = [];
  /** By uid. */
  readonly prepared = new Map<string, DraClaimName>();
  readonly socket: string;
  private server: Server | null = null;

  constructor(private readonly options: MockDraOptions) {
    this.socket = join(options.pluginsDirectory, `${options.driver}-reg.sock`);
  }

  /** Rejects if the socket can't be made. Removes a leftover one. */
  async start(): Promise<void> {
    mkdirSync(dirname(this.socket), { recursive: true, mode: directoryMode });
    if (lstatSync(this.socket, { throwIfNoEntry: false })?.isSocket() === true) rmSync(this.socket);
    const { driver, services } = this.options;
    const server = new Server();
    server.addService(RegistrationService, {
      getInfo: (_call: unknown, answer: sendUnaryData<unknown>) => answer(null, { type: 'DRAPlugin', name: driver, endpoint: this.socket, supportedVersions: [...services] }),
      notifyRegistrationStatus: ({ request }: ServerUnaryCall<{ pluginRegistered: boolean; error: string }, unknown>, answer: sendUnaryData<unknown>) => {
        this.notifications.push({ registered: request.pluginRegistered, error: request.error });
        answer(null, {});
      },
    });
    server.addService(DRAPluginService, {
      nodePrepareResources: this.method('NodePrepareResources', (claim) => {
        this.prepared.set(claim.uid, claim);
        const { shareId, ...device } = mockDraDevice(driver, claim);
        return { devices: [{ ...device, shareId: shareId ?? undefined }], error: '' };
      }),
      nodeUnprepareResources: this.method('NodeUnprepareResources', ({ uid }) => {
        this.prepared.delete(uid);
        return { error: '' };
      }),
    });
    await serveOnSocket(server, this.socket);
    this.server = server;
  }

  /** Ends, with its socket. A second call does nothing. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = null;
    if (server === null) return;
    await stopServer(server, stopTimeMs);
    rmSync(this.socket, { force: true });
  }

  private method(method: MockDraFault['method'], work: (claim: DraClaimName) => object) {
    return ({ request }: ServerUnaryCall<{ readonly claims: readonly DraClaimName[] }, unknown>, answer: sendUnaryData<unknown>): void => {
      const claims = request.claims.map(({ namespace, name, uid }) => ({ namespace, name, uid }));
      this.calls.push({ method, claims });
      const fault = this.faults.find((one) => one.method === method && one.times > 0);
      if (fault !== undefined) fault.times--;
      if (fault?.hangs === true) return;
      if (fault !== undefined && fault.code !== null) {
        answer({ code: fault.code, details: fault.message }, null);
        return;
      }
      const failed = fault === undefined ? null : { devices: [], error: fault.message };
      answer(null, { claims: Object.fromEntries(claims.map((claim) => [claim.uid, failed ?? work(claim)])) });
    };
  }
}

export function mockDraDevice(driver: string, { name, uid }: DraClaimName): DraDevice {
  return { requestNames: [], poolName: 'pool', deviceName: name, cdiDeviceIds: [`${driver}/device=${uid}`], shareId: null };
}
