// Connections to a server on a Unix socket; failures are described in Go's words, which users search for.
import { connect } from 'node:net';
import type { GrpcChannelOptions } from './channel.js';

/** @param path absolute */
export function unixDial(path: string): Pick<GrpcChannelOptions, 'dial' | 'dialProblem'> {
  return { dial: () => connect({ path }), dialProblem: (error) => `dial unix ${path}: connect: ${reasonOf(error)}` };
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  ECONNREFUSED: 'connection refused',
  EACCES: 'permission denied',
  ENOTSOCK: 'socket operation on non-socket',
  EPROTOTYPE: 'protocol wrong type for socket',
  EAGAIN: 'resource temporarily unavailable',
};

function reasonOf(error: Error): string {
  return reasons[(error as NodeJS.ErrnoException).code ?? ''] ?? error.message;
}
