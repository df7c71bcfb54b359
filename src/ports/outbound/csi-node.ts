// The node service of a CSI driver (csi.v1.Node), by its listening socket. Each call has a connection of its own, since drivers are restarted.
//
// All but `info`, `capabilities` and `stats` change something, and each is idempotent by the CSI specification. A driver's error has its status code as
// kind and the text `rpc error: code = <Code> desc = <text>`; any failure that the driver didn't answer is unavailable or deadline-exceeded. Secrets of a
// request are in no error, log or metric.
import type { Operation } from '../operation.js';

/** Names and their texts, as drivers take them. */
export type CsiTexts = Readonly<Record<string, string>>;

export interface CsiCapability {
  /** As CSI spells it: `SINGLE_NODE_WRITER` and so on. */
  readonly accessMode: string;
  readonly fsType: string;
  readonly mountFlags: readonly string[];
  /** '': the driver isn't to care. */
  readonly volumeMountGroup: string;
  /** As a raw device; the file system fields above are ignored then. */
  readonly isBlock: boolean;
}

export interface CsiStaging {
  readonly volumeId: string;
  readonly publishContext: CsiTexts;
  /** '' where nothing is staged. */
  readonly stagingTargetPath: string;
  readonly volumeCapability: CsiCapability;
  readonly secrets: CsiTexts;
  readonly volumeContext: CsiTexts;
}

export interface CsiNodeInfo {
  readonly nodeId: string;
  /** 0: no limit. */
  readonly maxVolumes: bigint;
  readonly topology: CsiTexts;
}

export interface CsiVolumeStats {
  /** `BYTES` and `INODES`, as far as the driver reports them. */
  readonly usage: readonly { readonly unit: string; readonly available: bigint; readonly total: bigint; readonly used: bigint }[];
  /** Whether the volume is healthy; null: not reported. */
  readonly condition: { readonly abnormal: boolean; readonly message: string } | null;
}

/** A request to the driver whose socket has this absolute path. */
export type AtEndpoint<Request> = Request & { readonly endpoint: string };

export interface CsiNodeOperations {
  readonly info: Operation<AtEndpoint<object>, CsiNodeInfo>;
  /** Of the node service, in CSI's spelling; omits unknown ones. */
  readonly capabilities: Operation<AtEndpoint<object>, readonly string[]>;
  readonly stage: Operation<AtEndpoint<CsiStaging>, null>;
  readonly publish: Operation<AtEndpoint<CsiStaging & { readonly targetPath: string; readonly readonly: boolean }>, null>;
  readonly unpublish: Operation<AtEndpoint<{ readonly volumeId: string; readonly targetPath: string }>, null>;
  readonly unstage: Operation<AtEndpoint<{ readonly volumeId: string; readonly stagingTargetPath: string }>, null>;
  readonly expand: Operation<
    AtEndpoint<{
      readonly volumeId: string;
      readonly volumePath: string;
      readonly stagingTargetPath: string;
      readonly requiredBytes: bigint;
      readonly volumeCapability: CsiCapability;
      readonly secrets: CsiTexts;
    }>,
    { readonly capacityBytes: bigint }
  >;
  readonly stats: Operation<AtEndpoint<{ readonly volumeId: string; readonly volumePath: string; readonly stagingTargetPath: string }>, CsiVolumeStats>;
}
