// An agent writes to no pod of another node, and makes none for one.
import { type Checker, podWrite } from './checker.js';

export const apiWritesOwnPods: Checker<null> = {
  name: 'api-writes-own-pods',
  fresh: () => null,
  look(_memory, what, node, report) {
    const write = podWrite(what, node);
    if (write === null) return;
    const { command, shown } = write;
    const made =
      command.op === 'apiWriter.create' && command.request.subresource === null ? (command.request.object as { readonly spec?: { readonly nodeName?: string } }).spec : undefined;
    const nodeName = made === undefined ? shown?.spec.nodeName : made.nodeName;
    if (nodeName !== undefined && nodeName !== node.name) report(`${command.op} of pod ${shown?.metadata.name ?? ''} of node ${nodeName}`);
  },
};
