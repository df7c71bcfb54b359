// The runtime endpoint as the kubelet's configuration writes it, and as gRPC wants it. Only Unix sockets.

/** An endpoint that can't be one; ends the start of the agent. */
export class EndpointError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EndpointError';
  }
}

/** The socket path of `unix:///path`, or of a bare path (deprecated, still accepted). Throws `EndpointError`. */
export function socketPathOf(endpoint: string): string {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(endpoint)?.[1]?.toLowerCase();
  if (scheme === undefined) {
    if (endpoint === '') throw new EndpointError('endpoint is not set');
    return endpoint;
  }
  if (scheme === 'tcp') throw new EndpointError('only support unix socket endpoint');
  if (scheme !== 'unix') throw new EndpointError(`protocol "${scheme}" not supported`);
  const path = endpoint.slice('unix:'.length).replace(/^\/\//, '');
  if (path === '') throw new EndpointError('endpoint is not set');
  return path;
}
