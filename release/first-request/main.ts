import { setTimeout as pause } from 'node:timers/promises'
import { CoreV1Api, CustomObjectsApi, KubeConfig } from '@kubernetes/client-node'
import { z } from 'zod'
import { httpUrlSetting, readEnvironment } from '#cabinet/process/environment'
import { ignoreInspectorSignal } from '#cabinet/process/inspector'

/**
 * `helm test`: makes an ApiKey as people do, calls a model with what its Secret holds, and reads the receipt. Exits
 * with 1, saying what went wrong, and leaves no key behind.
 */
const envSchema = z.object({
  TEST_NAMESPACE: z.string().min(1),
  TEST_ORGANIZATION: z.string().min(1),
  TEST_MODEL: z.string().min(1),
  TEST_NAME: z.string().min(1),
  /** Where this pod reaches the gateway; the Secret's base URL may be one of the outside. */
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
  say(`ApiKey ${env.TEST_NAMESPACE}/${env.TEST_NAME} is Ready.`)
  const key = await readKey()
  const answer = await callGateway('/chat/completions', key, {
    model: env.TEST_MODEL,
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 16,
  })
  if (!answer.ok) throw new Error(`The gateway answered ${answer.status}: ${await answer.text()}`)
  const requestId = answer.headers.get('x-gateway-request-id') ?? ''
  const cost = answer.headers.get('x-gateway-cost-rub')
  say(`${env.TEST_MODEL} answered; the request ${requestId} cost ${cost} ₽.`)
  const receipt = await readReceipt(requestId, key)
  if (receipt.cost_rub !== cost)
    throw new Error(`The receipt says ${receipt.cost_rub} ₽, the answer ${cost} ₽.`)
  say('The receipt says the same.')
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
        `The ApiKey is not Ready after ${readyWithinMs / 1000} s: ${ready?.message ?? 'no operator has seen it'}`,
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

/** Normally there within a second of the answer. */
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
