// How a server of the gRPC library begins to serve at a socket in the file system.
import { type Server, ServerCredentials } from '@grpc/grpc-js';

/** Resolves when calls are taken. Rejects with why they can't be. @param path of the socket, absolute */
export function serveOnSocket(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => (error === null ? resolve() : reject(error)));
  });
}
