// The public exports of the certificates adapter: keys, requests, certificates, and their files.
export { certificatesOf, factsOf, pairProblem } from './certificate-facts.js';
export { certificateRequest, type ReadRequest, type RequestedCertificate, readCertificateRequest } from './certificate-request.js';
export { FileCertificateStore, type KeyPair, type StoredPair, StoreRefusal } from './file-certificate-store.js';
export { FileCertificates, type FileCertificatesOptions } from './file-certificates.js';
export { type CertificateContents, type Issuer, issueCertificate } from './issue-certificate.js';
export { NodePodCertificateKeys } from './node-pod-certificate-keys.js';
export { ownServingPair, readServingPair, type ServingFiles, type ServingPair, servingFilesIn } from './serving-files.js';
