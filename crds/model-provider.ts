import { z } from 'zod'
import { baseAddress } from './address.ts'
import { labelSelector } from './label-selector.ts'
import {
  apiVersion,
  conditionsThat,
  metadata,
  observedGeneration,
  patterned,
  resourceName,
  secretKeyRef,
} from './resource.ts'
import { areDistinct, namedList, type Rule, ruled, unwrittenDefault } from './rule.ts'

/** Largest number of headers, and longest value in characters. */
const headersMax = 32
const headerLengthMax = 4096

/** They control where a message ends and the connection (RFC 9110 §7.6.1), so no call could be made with them. */
const connectionHeaders = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

const headerName = ruled(
  patterned(253, /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be a valid HTTP header name'),
  [
    {
      cel: `!(self.lowerAscii() in [${connectionHeaders.map((name) => `'${name}'`).join(', ')}])`,
      message: 'is a connection header, which the gateway sets itself',
      holds: (name) => !connectionHeaders.includes(name.toLowerCase()),
    },
  ],
)

const authType = <const Type extends string>(type: Type) =>
  z
    .literal(type)
    .describe(
      'How the credential is sent: None, Bearer, ApiKey (as this API expects its keys) or Header (in the header named by headerName).',
    )
const credential = secretKeyRef.describe(
  'Secret with the credential, in the same namespace and labelled modelgateway.dev/provider-credential=true.',
)

/** `held`: where the credential is. */
const authWith = <Held extends z.ZodRawShape>(held: Held) =>
  z.discriminatedUnion('type', [
    z.strictObject({ type: authType('None') }),
    z.strictObject({ type: authType('Bearer'), ...held }),
    /**
     * As this api's keys are sent: `api-key` (AzureOpenAI), `x-api-key` (Anthropic), `x-goog-api-key` (Gemini),
     * `Authorization: Api-Key …` (YandexGPT), else as Bearer.
     */
    z.strictObject({ type: authType('ApiKey'), ...held }),
    z.strictObject({
      type: authType('Header'),
      headerName: headerName.describe('Name of the header that carries the credential, without any prefix.'),
      ...held,
    }),
  ])

/** A line break would start another header. */
const headerValue = patterned(
  headerLengthMax,
  /^[\t -~]*$/,
  'must be a valid HTTP header value: printable ASCII characters, spaces and tabs',
)

const from = <const From extends string>(source: From) =>
  z
    .literal(source)
    .describe(
      'Same: only those in the namespace of this ModelProvider. All: those in every namespace. Selector: those in the namespaces that selector selects, and in this namespace.',
    )

/** Whose routes may use it, in the form of the Gateway API. */
const routeNamespaces = z.discriminatedUnion('from', [
  z.strictObject({ from: from('Same') }),
  z.strictObject({ from: from('All') }),
  z.strictObject({
    from: from('Selector'),
    selector: labelSelector.describe('Selects namespaces by their labels.'),
  }),
])

const allowedRoutes = z.strictObject({
  namespaces: routeNamespaces.default({ from: 'Same' }).describe('Namespaces whose ModelRoutes may use it.'),
})

type AllowedRoutes = z.infer<typeof allowedRoutes>

/** Those with an adapter. Others would be admitted, but served by no gateway. */
const servedApis = ['OpenAI', 'AzureOpenAI', 'Anthropic', 'Gemini', 'YandexGPT'] as const

const addressFields = {
  api: z
    .enum(servedApis, { error: `must be one of ${servedApis.join(', ')}` })
    .describe('API that the provider speaks.'),
  baseURL: baseAddress.describe(
    'Base URL of the API, including the version, such as https://api.openai.com/v1.',
  ),
  network: z
    .strictObject({
      http: z.boolean().default(false).describe('Allows plain HTTP.'),
      privateAddresses: z
        .boolean()
        .default(false)
        .describe(
          'Allows loopback, private and link-local addresses, as far as UPSTREAM_ALLOWED_CIDRS includes them.',
        ),
    })
    .default({ http: false, privateAddresses: false })
    .describe('What to allow in addition to public addresses over TLS.'),
}

const callFields = {
  headers: z
    .array(
      z.strictObject({
        name: headerName.describe('Name of the header.'),
        value: headerValue.describe('Value of the header, sent unchanged.'),
      }),
    )
    .max(headersMax)
    .refine((headers) => areDistinct(headers.map(({ name }) => name)), {
      error: 'must not contain the same header twice',
    })
    .meta(namedList)
    .default([])
    .describe('Headers sent with every request. Do not put secrets here.'),
  country: patterned(2, /^[A-Z]{2}$/, 'must be a country code of ISO 3166-1: two capital letters, such as DE')
    .optional()
    .describe(
      'Country in which the provider processes requests, as in ISO 3166-1 alpha-2. Shown to users. Unset means unknown.',
    ),
  limits: z
    .strictObject({
      requestsPerMinute: z
        .int()
        .min(1)
        .max(100_000_000)
        .optional()
        .describe('Requests allowed per minute. Unset means no limit.'),
    })
    .default({})
    .describe('Limits of the account at the provider, shared by all gateways.'),
  healthCheck: z
    .strictObject({
      type: z
        .enum(['None', 'ListModels'])
        .describe(
          'None: only requests determine health. ListModels: gateways also list the models of the provider (GET <baseURL>/models).',
        ),
    })
    .default({ type: 'None' })
    .meta(unwrittenDefault)
    .describe(
      'Whether one gateway checks the provider after each change and every 10 minutes, without waiting for a request. No organization is charged. Defaults to None.',
    ),
}

const authWords = 'How to authenticate to the provider.'
const specWords = 'Where the provider is, and how to reach it.'

const plainHttpRule: Rule<{ readonly baseURL: string; readonly network: { readonly http: boolean } }> = {
  cel: "!self.baseURL.startsWith('http:') || (has(self.network) && self.network.http)",
  message: 'is plain HTTP: use https, or set network.http to true to allow it',
  holds: ({ baseURL, network }) => !baseURL.startsWith('http:') || network.http,
  field: 'baseURL',
}

const spec = ruled(
  z
    .strictObject({
      ...addressFields,
      auth: authWith({ secretRef: credential }).default({ type: 'None' }).describe(authWords),
      allowedRoutes: allowedRoutes
        .default({ namespaces: { from: 'Same' } })
        .meta(unwrittenDefault)
        .describe(
          'Which ModelRoutes may use this provider and its credential. Defaults to those in the same namespace.',
        ),
      ...callFields,
      tls: z
        .strictObject({
          caSecretRef: z
            .strictObject({ name: resourceName.describe('Name of the Secret.') })
            .optional()
            .describe(
              'Secret with PEM certificates under ca.crt, in the same namespace and labelled modelgateway.dev/provider-credential=true.',
            ),
        })
        .default({})
        .describe('Certificate authorities to trust in addition to the default ones.'),
    })
    .describe(specWords),
  [plainHttpRule],
)

/** The same for a provider that no object of a cluster defines: its secrets are given separately. */
export const secretlessProviderSpec = ruled(
  z
    .strictObject({
      ...addressFields,
      auth: authWith({}).default({ type: 'None' }).describe(authWords),
      ...callFields,
    })
    .describe(specWords),
  [plainHttpRule],
)

export type SecretlessProviderSpec = z.output<typeof secretlessProviderSpec>

/** A provider's address and credential. */
export const modelProviderSchema = z
  .strictObject({
    apiVersion: z.literal(apiVersion),
    kind: z.literal('ModelProvider'),
    metadata,
    spec,
    status: z
      .looseObject({
        observedGeneration,
        conditions: conditionsThat(
          'Accepted: the spec is valid and the name is free. ResolvedRefs: its Secrets exist, are labelled and have a value. Healthy: no gateway reports a problem with it. Ready: all of this, so routes can use it.',
        ),
      })
      .optional()
      .describe('What became of the spec. Written by the operator.'),
  })
  .describe('A provider of models: its address, and the Secret with the credential that gateways send it.')

/**
 * The namespaces whose routes the spec of a ModelProvider allows, even if the spec is otherwise invalid.
 * Unreadable: only the provider's own namespace.
 */
export function allowedRoutesOf(providerSpec: unknown): AllowedRoutes['namespaces'] {
  const read = z.object({ allowedRoutes: allowedRoutes.optional() }).safeParse(providerSpec)
  return read.data?.allowedRoutes?.namespaces ?? { from: 'Same' }
}

export type ModelProvider = z.infer<typeof modelProviderSchema>

/**
 * Names the compatibility profile to use if it does not follow from the address: `vllm`, `sglang`, `tgi`, …
 */
export const quirksAnnotation = 'modelgateway.dev/quirks'
