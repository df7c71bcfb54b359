// The end of a server of @grpc/grpc-js, of which only these two operations are needed here: the library is not loaded for them.

export interface StoppableServer {
  tryShutdown(done: () => void): void;
  forceShutdown(): void;
}

/** Answers calls in progress for at most that long, and ends. */
export function stopServer(server: StoppableServer, patienceMillis: number): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, patienceMillis);
    server.tryShutdown(() => {
      clearTimeout(late);
      resolve();
    });
  });
}
