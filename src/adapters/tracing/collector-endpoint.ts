// The collector's address, from `tracing.endpoint`: a gRPC target name, without TLS as in the Go kubelet.
// Invariant: nothing is opened here.
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { type GrpcChannelOptions, unixDial } from '../grpc/index.js';

export const defaultEndpoint = 'localhost:4317';
const defaultPort = 4317;

export class EndpointProblem extends Error {}

/** @param endpoint `host:port`, `dns:///host:port`, `unix:/path`, `unix:///path` or `unix-abstract:name` Errors: EndpointProblem. */
export function collectorDial(endpoint: string): Pick<GrpcChannelOptions, 'dial' | 'dialProblem' | 'authority'> {
  const unix = /^unix:(?:\/\/)?(\/.+)$/i.exec(endpoint)?.[1];
  if (unix !== undefined) return { ...unixDial(unix), authority: 'localhost' };
  const abstract = /^unix-abstract:(?:\/\/\/?)?(.+)$/i.exec(endpoint)?.[1];
  if (abstract !== undefined) return { ...unixDial(`\0${abstract}`), authority: 'localhost' };
  // `dns://server/name` names the DNS server to use; this client always uses the host's.
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(endpoint) ?? [];
  if (scheme !== undefined && scheme.toLowerCase() !== 'dns') throw new EndpointProblem(problemOf(endpoint));
  const name = endpoint.replace(/^dns:\/\/[^/]*\//i, '').replace(/^dns:(\/\/)?/i, '');
  const { host, port } = hostAndPort(name, endpoint);
  return {
    dial: (): Duplex => connect({ host, port }),
    dialProblem: (error) => `dial tcp ${name}: ${error.message}`,
    authority: name,
  };
}

function hostAndPort(name: string, endpoint: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, portText] = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:/[\]\s]+))(?::([0-9]{1,5}))?$/.exec(name) ?? [];
  const host = bracketed ?? plain;
  const port = portText === undefined ? defaultPort : Number(portText);
  if (host === undefined || port < 1 || port > 65535) throw new EndpointProblem(problemOf(endpoint));
  return { host, port };
}

function problemOf(endpoint: string): string {
  return `tracing.endpoint: ${JSON.stringify(endpoint)} names no collector: host:port, unix:///path or unix-abstract:name is expected`;
}
