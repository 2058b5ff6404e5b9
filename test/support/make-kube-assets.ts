import { findForeignCrds } from './foreign-crds.ts'
import { findHelm } from './helm.ts'
import { findKubeAssets } from './kube-assets.ts'

// Before the tests, whose times minutes of building would spoil.
const { kubeApiserver } = await findKubeAssets((line) =>
  process.stderr.write(`Kubernetes for the tests: ${line}\n`),
)
process.stderr.write(`Kubernetes for the tests: ${kubeApiserver}\n`)
await findHelm((line) => process.stderr.write(`Helm for the tests: ${line}\n`))
await findForeignCrds()
