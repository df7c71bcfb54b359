// Tokens, reviews and certificates.
import { csrs, node, pods, type Step, step, stepPod } from './step.js';

/** A request for a certificate of system:node:other. */
const otherCertificate = [
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIdU1JR1ZBZ0VBTURNeEZUQVRCZ05WQkFvTURITjVjM1JsYlRwdWIyUmxjekVhTUJnR0ExVUVBd3dSYzNsegpkR1Z0T201dlpHVT',
  'ZiM1JvWlhJd1dUQVRCZ2NxaGtqT1BRSUJCZ2dxaGtqT1BRTUJCd05DQUFTRk1aa1BqeFNRCkY5eGRYVjlXbE9jR0NDTnFNSWxNUGRTRE1TYUIzRzluSmlWdjF3TGZaaEFnNFNJS0tNVU10Y0MvQzli',
  'NG5wWUYKa3pyWXNheVJoSmwvb0FBd0NnWUlLb1pJemowRUF3SURTQUF3UlFJaEFNczBMT0JiZ3hDbGVvWjdJWXJmSHorNwpjVVRBT2FRcmlpbnUvcGVYcmw5ZUFpQW41bFdMdHRFOHNIQmo3OWtoSV',
  'RLK1JRU2hQakVhaTdTd2k0Q1FramxGCjZRPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==',
].join('');

export const accessSteps: readonly Step[] = [
  step(
    'token',
    'POST',
    '/api/v1/namespaces/default/serviceaccounts/default/token',
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: ['x'], expirationSeconds: 600, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'full', uid: '{{pod-create-full.metadata.uid}}' } },
    },
    node,
  ),
  step(
    'token-other-pod',
    'POST',
    '/api/v1/namespaces/default/serviceaccounts/default/token',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['x'], boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'full', uid: 'other' } } },
    node,
  ),
  step('pod-create-audience', 'POST', pods, stepPod('audience', { volumes: [{ name: 't', projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'x' } }] } }] })),
  step(
    'token-audience',
    'POST',
    '/api/v1/namespaces/default/serviceaccounts/default/token',
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: ['x'], expirationSeconds: 600, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'audience', uid: '{{pod-create-audience.metadata.uid}}' } },
    },
    node,
  ),
  step(
    'token-own',
    'POST',
    '/api/v1/namespaces/default/serviceaccounts/default/token',
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: [], boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'full', uid: '{{pod-create-full.metadata.uid}}' } },
    },
    node,
  ),
  step(
    'token-unbound',
    'POST',
    '/api/v1/namespaces/default/serviceaccounts/default/token',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['x'] } },
    node,
  ),
  step('token-short', 'POST', '/api/v1/namespaces/default/serviceaccounts/default/token', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 5 },
  }),
  step(
    'token-review',
    'POST',
    '/apis/authentication.k8s.io/v1/tokenreviews',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: '{{token-audience.status.token}}', audiences: ['x'] } },
    node,
  ),
  step(
    'token-review-bad',
    'POST',
    '/apis/authentication.k8s.io/v1/tokenreviews',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'nonsense' } },
    node,
  ),
  step('token-review-empty', 'POST', '/apis/authentication.k8s.io/v1/tokenreviews', { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: {} }, node),
  step('self-review', 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }, node),
  step(
    'access-review',
    'POST',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: 'admin', groups: ['system:masters'], resourceAttributes: { verb: 'get', resource: 'nodes', subresource: 'proxy', name: 'lab-node', version: 'v1' } },
    },
    node,
  ),
  step(
    'access-review-none',
    'POST',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: { user: 'nobody', resourceAttributes: { verb: 'get', resource: 'nodes' } } },
    node,
  ),
  step('access-review-empty', 'POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: {} }, node),
  step('csr-list', 'GET', csrs, undefined, node),
  step(
    'csr-bad',
    'POST',
    csrs,
    {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'bad' },
      spec: { request: 'bm9uc2Vuc2U=', signerName: 'kubernetes.io/kubelet-serving', usages: ['server auth'] },
    },
    node,
  ),
  step(
    'csr-other',
    'POST',
    csrs,
    {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'other' },
      spec: { request: otherCertificate, signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages: ['digital signature', 'client auth'] },
    },
    node,
  ),
];
