// Kinds of the groups beside core and storage: leases, runtime and priority classes, certificates, reviews, tokens, evictions.
import type { StructTable } from './field-types.js';

const userInfo = { username: 'string', uid: 'string', groups: '[]string', extra: 'map:[]string' };
const accessSpec = { resourceAttributes: '*ResourceAttributes', nonResourceAttributes: '*NonResourceAttributes' };

const schedulingAndCertificates: StructTable = {
  Lease: { metadata: 'ObjectMeta', spec: 'LeaseSpec' },
  LeaseSpec: {
    holderIdentity: '*string',
    leaseDurationSeconds: '*int32',
    acquireTime: '*microTime',
    renewTime: '*microTime',
    leaseTransitions: '*int32',
    strategy: '*string',
    preferredHolder: '*string',
  },
  RuntimeClass: { metadata: 'ObjectMeta', handler: 'string!', overhead: '*RuntimeClassOverhead', scheduling: '*RuntimeClassScheduling' },
  RuntimeClassOverhead: { podFixed: 'map:quantity' },
  RuntimeClassScheduling: { nodeSelector: 'map:string', tolerations: '[]Toleration' },
  PriorityClass: { metadata: 'ObjectMeta', value: '*int32', globalDefault: 'bool', description: 'string', preemptionPolicy: '*string' },
  ClusterTrustBundle: { metadata: 'ObjectMeta', spec: 'ClusterTrustBundleSpec' },
  ClusterTrustBundleSpec: { signerName: 'string', trustBundle: 'string!' },
  PodCertificateRequest: { metadata: 'ObjectMeta', spec: 'PodCertificateRequestSpec', status: 'PodCertificateRequestStatus' },
  PodCertificateRequestSpec: {
    signerName: 'string!',
    podName: 'string!',
    podUID: 'string!',
    serviceAccountName: 'string!',
    serviceAccountUID: 'string!',
    nodeName: 'string!',
    nodeUID: 'string!',
    maxExpirationSeconds: '*int32',
    stubPKCS10Request: 'bytes!',
    unverifiedUserAnnotations: 'map:string',
  },
  PodCertificateRequestStatus: { conditions: '[type]Condition', certificateChain: 'string', notBefore: '*time', beginRefreshAt: '*time', notAfter: '*time' },
  CertificateSigningRequest: { metadata: 'ObjectMeta', spec: 'CertificateSigningRequestSpec', status: 'CertificateSigningRequestStatus' },
  CertificateSigningRequestSpec: {
    request: 'bytes!',
    signerName: 'string!',
    expirationSeconds: '*int32',
    usages: '[]string',
    username: 'string',
    uid: 'string',
    groups: '[]string',
    extra: 'map:[]string',
  },
  CertificateSigningRequestStatus: { conditions: '[type]CertificateSigningRequestCondition', certificate: 'bytes' },
  CertificateSigningRequestCondition: { type: 'string!', status: 'string!', reason: 'string', message: 'string', lastUpdateTime: '*time', lastTransitionTime: '*time' },
};

const reviews: StructTable = {
  TokenRequest: { metadata: 'ObjectMeta', spec: 'TokenRequestSpec', status: 'TokenRequestStatus' },
  TokenRequestSpec: { audiences: '[]string', expirationSeconds: '*int64', boundObjectRef: '*BoundObjectReference' },
  BoundObjectReference: { kind: 'string', apiVersion: 'string', name: 'string', uid: 'string' },
  TokenRequestStatus: { token: '*string', expirationTimestamp: '*time' },
  TokenReview: { metadata: 'ObjectMeta', spec: 'TokenReviewSpec', status: 'TokenReviewStatus' },
  TokenReviewSpec: { token: 'string', audiences: '[]string' },
  TokenReviewStatus: { authenticated: 'bool', user: 'UserInfo', audiences: '[]string', error: 'string' },
  UserInfo: userInfo,
  SubjectAccessReview: { metadata: 'ObjectMeta', spec: 'SubjectAccessReviewSpec', status: 'SubjectAccessReviewStatus' },
  SubjectAccessReviewSpec: { ...accessSpec, user: 'string', groups: '[]string', extra: 'map:[]string', uid: 'string' },
  SelfSubjectAccessReview: { metadata: 'ObjectMeta', spec: 'SelfSubjectAccessReviewSpec', status: 'SubjectAccessReviewStatus' },
  SelfSubjectAccessReviewSpec: accessSpec,
  ResourceAttributes: {
    namespace: 'string',
    verb: 'string',
    group: 'string',
    version: 'string',
    resource: 'string',
    subresource: 'string',
    name: 'string',
    fieldSelector: '*FieldSelectorAttributes',
    labelSelector: '*LabelSelectorAttributes',
  },
  FieldSelectorAttributes: { rawSelector: 'string', requirements: '[]FieldSelectorRequirement' },
  LabelSelectorAttributes: { rawSelector: 'string', requirements: '[]LabelSelectorRequirement' },
  FieldSelectorRequirement: { key: 'string', operator: 'string', values: '[]string' },
  NonResourceAttributes: { path: 'string', verb: 'string' },
  SubjectAccessReviewStatus: { allowed: '*bool', denied: 'bool', reason: 'string', evaluationError: 'string' },
  SelfSubjectReview: { metadata: 'ObjectMeta', status: 'SelfSubjectReviewStatus' },
  SelfSubjectReviewStatus: { userInfo: 'UserInfo' },
  Eviction: { metadata: 'ObjectMeta', deleteOptions: '*DeleteOptions' },
  DeleteOptions: {
    // It comes as an object of its own, too.
    kind: 'string',
    apiVersion: 'string',
    gracePeriodSeconds: '*int64',
    preconditions: '*Preconditions',
    orphanDependents: '*bool',
    propagationPolicy: '*string',
    dryRun: '[]string',
    ignoreStoreReadErrorWithClusterBreakingPotential: '*bool',
  },
  Preconditions: { uid: '*string', resourceVersion: '*string' },
};

export const otherStructs: StructTable = { ...schedulingAndCertificates, ...reviews };
