import { setTimeout as pause } from 'node:timers/promises'
import { CoreV1Api, CustomObjectsApi, KubeConfig } from '@kubernetes/client-node'
import { z } from 'zod'
import { httpUrlSetting, readEnvironment } from '#core/process/environment'
import { ignoreInspectorSignal } from '#core/process/inspector'

/**
 * `helm test` creates an ApiKey like a user, calls a model with its Secret, and reads the receipt. On failure, it
 * prints the reason and exits with 1. It leaves no key behind.
 */
const envSchema = z.object({
  TEST_NAMESPACE: z.string().min(1),
  TEST_ORGANIZATION: z.string().min(1),
  TEST_MODEL: z.string().min(1),
  TEST_NAME: z.string().min(1),
  /** The gateway's URL for this pod. The base URL in the Secret may be external. */
  TEST_BASE_URL: httpUrlSetting,
})

const statusSchema = z.object({
  status: z
    .object({ conditions: z.array(z.object({ type: z.string(), status: z.string(), message: z.string() })) })
    .optional(),
})
const receiptSchema = z.object({ id: z.string(), cost_rub: z.string() })

const readyWithinMs = 120_000
const receiptWithinMs = 20_000
const pauseMs = 500
const answerMs = 30_000

ignoreInspectorSignal()
const env = readEnvironment('the test of the release', envSchema, process.env)
const kubeConfig = new KubeConfig()
kubeConfig.loadFromDefault()
const objects = kubeConfig.makeApiClient(CustomObjectsApi)
const resource = {
  group: 'modelgateway.dev',
  version: 'v1alpha1',
  namespace: env.TEST_NAMESPACE,
  plural: 'apikeys',
}
const place = { ...resource, name: env.TEST_NAME }
await objects.createNamespacedCustomObject({
  ...resource,
  body: {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'ApiKey',
    metadata: { name: env.TEST_NAME },
    spec: { organization: env.TEST_ORGANIZATION, displayName: 'helm test', allowedModels: [env.TEST_MODEL] },
  },
})
try {
  await untilReady()
  say(`ApiKey ${env.TEST_NAMESPACE}/${env.TEST_NAME} is ready.`)
  const key = await readKey()
  const answer = await callGateway('/chat/completions', key, {
    model: env.TEST_MODEL,
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 16,
  })
  if (!answer.ok) throw new Error(`The gateway returned ${answer.status}: ${await answer.text()}`)
  const requestId = answer.headers.get('x-gateway-request-id') ?? ''
  const cost = answer.headers.get('x-gateway-cost-rub')
  say(`${env.TEST_MODEL} responded. The request ${requestId} cost ${cost} ₽.`)
  const receipt = await readReceipt(requestId, key)
  if (receipt.cost_rub !== cost)
    throw new Error(`Cost mismatch: the receipt has ${receipt.cost_rub} ₽, the response has ${cost} ₽.`)
  say('The receipt has the same cost.')
} finally {
  await objects.deleteNamespacedCustomObject(place)
}

async function untilReady(): Promise<void> {
  const giveUpAtMs = performance.now() + readyWithinMs
  for (;;) {
    const { status } = statusSchema.parse(await objects.getNamespacedCustomObject(place))
    const ready = status?.conditions.find(({ type }) => type === 'Ready')
    if (ready?.status === 'True') return
    if (performance.now() > giveUpAtMs)
      throw new Error(
        `The ApiKey is not ready after ${readyWithinMs / 1000} s: ${ready?.message ?? 'no operator has seen it'}`,
      )
    await pause(pauseMs)
  }
}

async function readKey(): Promise<string> {
  const { data } = await kubeConfig
    .makeApiClient(CoreV1Api)
    .readNamespacedSecret({ namespace: env.TEST_NAMESPACE, name: `${env.TEST_NAME}-apikey` })
  return Buffer.from(data?.OPENAI_API_KEY ?? '', 'base64').toString()
}

/** Normally available within a second of the response. */
async function readReceipt(requestId: string, key: string): Promise<z.infer<typeof receiptSchema>> {
  const giveUpAtMs = performance.now() + receiptWithinMs
  for (;;) {
    const answer = await callGateway(`/requests/${requestId}`, key)
    if (answer.ok) return receiptSchema.parse(await answer.json())
    if (performance.now() > giveUpAtMs)
      throw new Error(`No receipt after ${receiptWithinMs / 1000} s: ${answer.status} ${await answer.text()}`)
    await pause(pauseMs)
  }
}

function callGateway(path: string, key: string, body?: object): Promise<Response> {
  return fetch(`${env.TEST_BASE_URL}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(answerMs),
  })
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
