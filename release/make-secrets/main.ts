import { ApiException, CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { z } from 'zod'
import { readEnvironment } from '#core/process/environment'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { missingSecrets } from './internal/missing-secrets.ts'

/**
 * Creates the release's Secret if it is absent, and adds missing values. It never changes an existing value. Helm does
 * not own the Secret, so uninstalling keeps it: without its pepper, no API key ever works again.
 */
const envSchema = z.object({
  SECRET_NAMESPACE: z.string().min(1),
  SECRET_NAME: z.string().min(1),
  SECRET_LABELS: z
    .string()
    .default('{}')
    .transform((text) => z.record(z.string(), z.string()).parse(JSON.parse(text))),
  TRIAL: z.stringbool().default(false),
})

ignoreInspectorSignal()
const env = readEnvironment('the Job that makes the secrets', envSchema, process.env)
const place = { namespace: env.SECRET_NAMESPACE, name: env.SECRET_NAME }
const named = `Secret ${place.namespace}/${place.name}`
const kubeConfig = new KubeConfig()
kubeConfig.loadFromDefault()
const api = kubeConfig.makeApiClient(CoreV1Api)

const before = await api.readNamespacedSecret(place).catch(orWhere(404))
const missing = missingSecrets(Object.keys(before?.data ?? {}), env.TRIAL)
if (Object.keys(missing).length === 0) say(`${named} is complete. Nothing changed.`)
else if (before === undefined) {
  const metadata = { name: place.name, labels: env.SECRET_LABELS }
  await api.createNamespacedSecret({ namespace: place.namespace, body: { metadata, stringData: missing } })
  say(`Created ${named}. Keep a backup: without it, no API key of this release works.`)
} else {
  // Contains the version that was read, so that of two concurrent updates one fails and is retried.
  await api.replaceNamespacedSecret({ ...place, body: { ...before, stringData: missing } })
  say(`Added to ${named}: ${Object.keys(missing).join(', ')}. Existing entries were not changed.`)
}

/** Returns `undefined` for this status of the API server. Rethrows any other error. */
function orWhere(code: number): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof ApiException && error.code === code) return undefined
    throw error
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
