// Reviews of clients by the apiserver: each that was asked for is counted, with how it went.
import t from 'tap';
import { ApiAccessReviews } from '../../src/adapters/http-server/index.js';
import { PortError } from '../../src/ports/port-error.js';

const user = { username: 'u', uid: '', groups: [], extra: {} };
const attributes = { verb: 'get', apiGroup: '', apiVersion: 'v1', resource: 'nodes', subresource: 'pods', name: 'n1' };
const { signal } = new AbortController();

t.test('each review is counted as one of a token or of access, and as answered or not', async (t) => {
  const seen: string[] = [];
  let status: object | null = { authenticated: true, user };
  const writer = {
    create: async () => {
      if (status === null) throw new PortError({ kind: 'unavailable', message: 'away', operation: 'apiWriter.create', subject: '' });
      return { status };
    },
  };
  const reviews = new ApiAccessReviews(writer as never, ({ of, worked, tookMillis }) => seen.push(`${of} ${worked} ${tookMillis >= 0}`));
  await reviews.reviewToken('secret', signal);
  status = { authenticated: false, error: 'expired' };
  await t.rejects(reviews.reviewToken('secret', signal), { message: 'expired' });
  status = { allowed: false };
  t.equal(await reviews.reviewAccess(user, attributes as never, signal), false);
  status = null;
  await t.rejects(reviews.reviewAccess(user, attributes as never, signal), { message: 'away' });
  await t.rejects(reviews.reviewToken('secret', signal), { message: 'away' });
  t.strictSame(seen, ['authn true true', 'authn true true', 'authz true true', 'authz false true', 'authn false true']);
});
