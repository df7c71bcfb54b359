// The settings of an apiserver. Every setting has a default.
import type { Micros } from '../../ports/micros.js';
import type { ApiUser, FieldValidation } from './api-request.js';
import { allControllers, type ControllerName } from './control/controller-names.js';

export interface ApiserverSettings {
  /** Uids, generated names and tokens are drawn from it. */
  readonly seed: number;
  /** Treatment of unknown fields if the client sets no `fieldValidation`. A real server warns. */
  readonly fieldValidation: FieldValidation;
  /** Changes kept for watches and for lists of earlier versions; twice as many for a while. */
  readonly historyLimit: number;
  /** Events that wait for one watcher; at more its watch is ended. */
  readonly watchQueueLimit: number;
  /** How long a watch hears nothing at most. */
  readonly bookmarkMicros: Micros;
  /** PEM: what pods know the server by. */
  readonly rootCa: string;
  /** What tokens are signed with. */
  readonly tokenSecret: string;
  /** Initial bearer tokens with their users. */
  readonly tokens: ReadonlyMap<string, ApiUser>;
  /** Enforces NodeRestriction, the node authorizer and the other users' permissions; off: every user may do everything. */
  readonly authorization: boolean;
  /** Audiences of tokens that nodes may ask for beside those of their pods' volumes, as a cluster role allows it for image credential providers. */
  readonly nodeTokenAudiences: readonly string[];
  /** The parts of a control plane that run inside. */
  readonly controllers: readonly ControllerName[];
  /** The delay before a controller processes a change. */
  readonly controllerMicros: Micros;
  /** How long a node may be silent; null: unlimited. */
  readonly nodeMonitorGraceMicros: Micros | null;
  readonly eventTtlMicros: Micros;
  readonly maxCertificateSeconds: number;
  /** The number of requests kept in the audit log. */
  readonly auditLimit: number;
  /** Collections that the server hasn't, as `leases.coordination.k8s.io`: an older one, or one with them switched off. They are a 404, and no document names them. */
  readonly without: readonly string[];
  /** Where it listens: what `default/kubernetes` leads to. null: there is no such service, and pods have no variables of it. */
  readonly ownServicePort: number | null;
  /** The offset of the server's clock from the clock of its driver; negative: behind. */
  readonly clockOffsetMicros: Micros;
}

export const defaultApiserverSettings: ApiserverSettings = {
  seed: 1,
  fieldValidation: 'Strict',
  historyLimit: 10_000,
  watchQueueLimit: 10_000,
  bookmarkMicros: 60_000_000,
  rootCa: '-----BEGIN CERTIFICATE-----\nsimulated\n-----END CERTIFICATE-----\n',
  tokenSecret: 'simulated',
  tokens: new Map(),
  authorization: true,
  nodeTokenAudiences: [],
  controllers: allControllers,
  controllerMicros: 5_000,
  nodeMonitorGraceMicros: 50_000_000,
  eventTtlMicros: 3_600_000_000,
  maxCertificateSeconds: 31_536_000,
  auditLimit: 1_000,
  without: [],
  ownServicePort: null,
  clockOffsetMicros: 0,
};
