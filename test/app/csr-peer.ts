// An apiserver that does nothing but sign certificates for nodes and say who asks: as much as a bootstrap needs.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readCertificateRequest } from '../../src/adapters/certificates/index.js';
import { ApiPeer, answer, type Teardown } from '../adapters/api-peer.js';

interface Csr {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly spec: { readonly request: string };
  status?: object;
}

export class CsrPeer {
  readonly requests: Csr[] = [];
  /** Names of requests in the order in which they were made. */
  readonly callers: string[] = [];
  approves = true;
  /** Days from now until which what is signed is valid. */
  validDays = 1;
  /** Whom the server takes for a node. */
  accepts = true;
  private readonly watchers = new Map<ServerResponse, string>();

  private constructor(public peer: ApiPeer) {}

  static async open(t: Teardown): Promise<CsrPeer> {
    const holder: { self: CsrPeer | null } = { self: null };
    const peer = await ApiPeer.open(t, (request, response, body) => holder.self?.handle(request, response, body));
    holder.self = new CsrPeer(peer);
    return holder.self;
  }

  /** The approver comes by. */
  approve(): void {
    this.approves = true;
    for (const csr of this.requests) this.sign(csr);
    for (const [response, name] of this.watchers) {
      const csr = this.requests.find(({ metadata }) => metadata.name === name);
      if (csr !== undefined) response.write(`${JSON.stringify({ type: 'MODIFIED', object: csr })}\n`);
    }
  }

  private handle(request: IncomingMessage, response: ServerResponse, body: string): void {
    const { url = '', method } = request;
    const { commonName } = this.peer.requests.at(-1) ?? { commonName: null };
    const isBootstrapper = request.headers.authorization === 'Bearer bootstrap-token';
    const isNode = this.accepts && (request.socket as { authorized?: boolean }).authorized === true;
    this.callers.push(`${isBootstrapper ? 'bootstrap' : isNode ? commonName : 'nobody'} ${method} ${url.split('?')[0]}`);
    if (!isBootstrapper && !isNode) {
      answer(response, 401, { kind: 'Status', message: 'Unauthorized', reason: 'Unauthorized', code: 401 });
      return;
    }
    if (!url.startsWith('/apis/certificates.k8s.io/v1/certificatesigningrequests')) answer(response, 404, { kind: 'Status', message: 'not here', reason: 'NotFound', code: 404 });
    else if (method === 'POST') this.create(response, JSON.parse(body));
    else this.read(response, new URL(url, 'https://h'));
  }

  private create(response: ServerResponse, object: Csr & { readonly metadata: { readonly name?: string } }): void {
    const name = object.metadata.name ?? `csr-${this.requests.length}`;
    if (this.requests.some(({ metadata }) => metadata.name === name)) {
      answer(response, 409, { kind: 'Status', message: `certificatesigningrequests "${name}" already exists`, reason: 'AlreadyExists', code: 409 });
      return;
    }
    const csr = { ...object, metadata: { name, uid: `u${this.requests.length}`, resourceVersion: '1' } };
    if (this.approves) this.sign(csr);
    this.requests.push(csr);
    answer(response, 201, csr);
  }

  private read(response: ServerResponse, url: URL): void {
    const named = url.pathname.split('/').at(-1);
    const name = named === 'certificatesigningrequests' ? (url.searchParams.get('fieldSelector') ?? '').replace('metadata.name=', '') : (named ?? '');
    const items = this.requests.filter(({ metadata }) => metadata.name === name);
    if (url.searchParams.get('watch') === 'true') {
      response.writeHead(200).write('\n');
      this.watchers.set(response, name);
      response.once('close', () => this.watchers.delete(response));
    } else if (name === named) answer(response, 200, items[0] ?? {});
    else answer(response, 200, { kind: 'CertificateSigningRequestList', apiVersion: 'certificates.k8s.io/v1', metadata: { resourceVersion: '9' }, items });
  }

  private sign(csr: Csr): void {
    const read = readCertificateRequest(Buffer.from(csr.spec.request, 'base64').toString('utf8'));
    const certificate = this.peer.authority.sign(read.publicKey, read, -1, this.validDays);
    csr.status = { conditions: [{ type: 'Approved', status: 'True' }], certificate: Buffer.from(certificate).toString('base64') };
  }
}
