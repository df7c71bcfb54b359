// Long streams through the kubelet's port on a real containerd: 64 MiB in every way and protocol. The nightly tier has the runtime's own server and the
// mock apiserver, too.
import t from 'tap';
import { longStreams } from './long-streams.js';
import { skipWithoutContainerd } from './private-containerd.js';

t.setTimeout(580_000);
t.test('64 MiB each way through the kubelet', { skip: skipWithoutContainerd() }, (t) => longStreams(t, ['kubelet'], 0));
