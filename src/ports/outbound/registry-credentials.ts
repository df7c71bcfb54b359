// The node's own registry credentials: its Docker configuration, and credential provider plugins.
// Answers hold secrets: only for pulls, never for logs, errors or command lines.
import type { Operation } from '../operation.js';

export interface NodeDockerConfig {
  readonly format: 'config.json' | '.dockercfg';
  /** For messages. */
  readonly path: string;
  readonly text: string;
}

export interface PluginRun {
  /** A file name in the plugins' directory. */
  readonly name: string;
  readonly args: readonly string[];
  /** Over the environment of the agent. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** The plugin's input: a CredentialProviderRequest. May hold a token. */
  readonly stdin: string;
}

export interface RegistryCredentialOperations {
  /** The first of the usual places that can be read; null when none can. Idempotent. */
  readonly readNodeConfig: Operation<null, NodeDockerConfig | null>;
  /**
   * Runs a plugin to its end and returns its output. Ends with the call: the plugin is killed at its deadline.
   * Errors: not-found (no such program), permission-denied, unknown (another exit status than 0; the message ends with its
   * stderr, never its stdout), resource-exhausted (too much output), deadline-exceeded.
   */
  readonly runPlugin: Operation<PluginRun, { readonly stdout: string }>;
}
