import { join } from 'node:path'

/** The cluster that runs these tests' pods. */
export const kubeconfig = process.env.KUBECONFIG ?? ''
/** Where this machine reaches the cluster's ingress controller. */
export const ingress = new URL(process.env.E2E_INGRESS ?? 'http://127.0.0.1:18080')
/** Files of values for the chart, with commas between: images, hosts, sizes. */
export const valuesFiles = process.env.E2E_VALUES ?? join(import.meta.dirname, 'one-node-values.yaml')
/** Two tags of one repository, both known to the cluster: the one that runs, and another to upgrade to. */
export const tags = { first: process.env.E2E_TAG ?? 'a', next: process.env.E2E_NEXT_TAG ?? 'b' } as const
