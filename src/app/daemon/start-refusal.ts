// Why an agent does not start. Invariant: nothing that it started goes on, and the message is the one line that the process ends with.

export class StartRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartRefusal';
  }
}
