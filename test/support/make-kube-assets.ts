import { findOrMakeKubeAssets } from './kube-assets.ts'

// Before the tests, whose times minutes of building would spoil.
process.stderr.write('Kubernetes for the tests (made once on this machine, 3 minutes at most)…\n')
process.stderr.write(`… is in ${await findOrMakeKubeAssets()}\n`)
