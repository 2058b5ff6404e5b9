import type { RouteDocument } from '#core/catalog/catalog-document'
import type { JsonObject } from '../wire/json-fields.ts'
import type { Text } from '../wire/long-text.ts'
import type { RelayedApi } from '../wire/relayed-api.ts'
import type { Failure } from './failure.ts'
import type { ProviderQuirks } from './internal/quirks.ts'

/**
 * One provider API: how it is called, and what its bytes mean in OpenAI's terms.
 *
 * Requests come with OpenAI's names, after the rules of the route and of the provider's row. Responses leave as OpenAI's
 * objects, so that one normalizer serves every provider. An adapter holds no state between calls, and never throws for
 * what a caller or a provider wrote.
 */
export type ProviderAdapter = {
  /** Addresses of the calls for one model. */
  readonly urlsOf: (place: ModelPlace) => CallUrls
  /** Where the provider lists its models. */
  readonly modelsUrlOf: (baseUrl: string) => string
  /** Whether a response of status 2xx from there is such a list. */
  readonly isModelList: (body: unknown) => boolean
  /** Media type of its streams. */
  readonly streamType: string
  readonly chat: (request: AdaptedChat) => ChatCall | Failure | Promise<ChatCall | Failure>
  readonly embeddings: EmbeddingsAdapter
  /** For clients that speak this API, at backends whose row has it as `native`. */
  readonly relay?: Relay
}

type ModelPlace = {
  readonly baseUrl: string
  readonly quirks: ProviderQuirks
  readonly type: RouteDocument['type']
  /** The provider's own name of the model. */
  readonly model: string
}

/** By the mode of a request; those of embeddings are the same. */
export type CallUrls = { readonly plain: string; readonly stream: string }

/** How to speak to one backend of one route: everything known before a request comes. */
export type Dialect = {
  /** Of its route: what it is asked for. */
  readonly type: RouteDocument['type']
  readonly adapter: ProviderAdapter
  /** The mark of what its provider signs (`signature-origin.ts`). */
  readonly origin: string
  readonly urls: CallUrls
  /** For clients that speak the backend's own API; `undefined`: their requests are translated. */
  readonly relay: BackendRelay | undefined
  /** The provider's own name of the model, as its body carries it. */
  readonly model: string
  readonly quirks: CompiledQuirks
  readonly route: {
    /** Of what callers send. */
    readonly drop: ReadonlySet<string>
    readonly rename: readonly (readonly [from: string, to: string])[]
    readonly defaults: readonly {
      readonly name: string
      readonly value: unknown
      /** Every name under which a request may say it itself: the route's value is then not sent. */
      readonly saidAs: readonly string[]
    }[]
    /** Parameters that the route itself adds come from the operator: they are never dropped. */
    readonly own: ReadonlySet<string>
    /** Bytes of JSON that these add to a request at most. */
    readonly defaultsBytes: number
    /** Every name that a limit of output tokens may have behind the route's rules, and OpenAI's two before them. */
    readonly limitNames: readonly string[]
    /** `ruled`: rules may change, drop or fill in a limit; else a request's own is the one that is sent. */
    readonly limit: 'as_asked' | 'ruled'
    readonly outputTokensMax: number | null
  }
}

/** A compatibility profile with its lists prepared for look-ups. */
export type CompiledQuirks = ProviderQuirks & {
  /** `undefined`: whatever is not unwanted. */
  readonly allowed: ReadonlySet<string> | undefined
  readonly unwanted: ReadonlySet<string>
  readonly unwantedWhenReasoning: ReadonlySet<string>
  readonly schemaKeys: ReadonlySet<string>
  readonly extrasRefused: readonly string[]
}

/** A chat request under OpenAI's names. The parameters are the adapter's own to change, their values are not. */
export type AdaptedChat = {
  /** What other providers signed is not in its messages. */
  readonly fields: Map<string, unknown>
  readonly mode: 'plain' | 'stream'
  readonly dialect: Dialect
  /** Of the request: one that came in a large body is translated in turns. */
  readonly bodyBytes: number
  /** For a provider that takes the bytes of images and no addresses. */
  readonly fetchImage: FetchImage
}

/** Fetches a public image, once for each request. `param`: path of the field with its URL. */
export type FetchImage = (url: string, param: string) => Promise<ImageBytes | Failure>

type ImageBytes = { readonly mediaType: string; readonly base64: Text }

/** What to send for one chat, and how to read the response to it. */
export type ChatCall = ChatReading & {
  readonly json: JsonObject
  /** Bytes that the caller did not send: of images. */
  readonly addedBytes?: number
}

export type ChatReading = {
  /** For one stream. */
  readonly createEventReader: () => EventReader
  /** For a whole response of status 2xx. */
  readonly readAnswer: (text: string) => WholeAnswer
}

export type EventReader = {
  /** Takes the data of one event. */
  read(data: string): ProviderEvent
  /**
   * The name of the text in an event that has only a text: events that differ only in it are not read. `undefined`: no two
   * differ only in it.
   */
  readonly textKey: string | undefined
  /** The name of the object with its counts, where each event has those so far: they are read once, at the end. */
  readonly countsKey: string
  /** How the bytes of such an event begin. */
  readonly eventHead: string
}

/** The meaning of one event of a provider's stream. */
export type ProviderEvent =
  | { readonly kind: 'nothing' }
  /** Nothing but a sign that the connection lives: it does not keep a provider from being late. */
  | { readonly kind: 'ping' }
  /** `usage` counts the response so far; `undefined`: the event has none. */
  | {
      readonly kind: 'chunk'
      readonly chunk: JsonObject
      readonly usage: unknown
      /** Nothing follows, and the provider marked the response as whole. */
      readonly isLast?: true
    }
  /** The provider marked the response as whole. */
  | { readonly kind: 'end' }
  | { readonly kind: 'failed'; readonly failure: Failure }

/** A whole response: OpenAI's `chat.completion`, whose fields are still unchecked. */
export type WholeAnswer =
  | { readonly kind: 'answer'; readonly answer: JsonObject; readonly usage: unknown }
  | { readonly kind: 'failed'; readonly failure: Failure }

/** A client's request in a provider's own API, to be sent as it came but for what may not be its client's choice. */
export type OwnRequest = {
  readonly api: RelayedApi
  /** Never changed, so that a fallback starts from it again. */
  readonly body: JsonObject
  /** Those of the client's headers that mean something to the provider; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Decrypts what a provider signed; `undefined`: another organization's, or damaged. Never throws. */
  readonly findSigned: (encrypted: Text) => OwnSigned | undefined
}

/** What a provider signed or encrypted, and its mark (`internal/signature-origin.ts`). */
type OwnSigned = { readonly origin: string; readonly details: readonly JsonObject[] }

/** How clients of a provider's own API are served by it. */
export type Relay = {
  readonly api: RelayedApi
  /** Addresses of the calls for one model. */
  readonly urlsOf: (place: ModelPlace) => CallUrls
  /** Writes the request to send, one part of it in each step. Never throws for what a caller wrote. */
  readonly write: (request: OwnChat) => Generator<undefined, RelayedCall>
  /** How the provider counts the tokens of a prompt; absent: it does not. */
  readonly counts?: {
    /** @param url of its calls. */
    readonly urlOf: (url: string) => string
    /** `undefined`: it is no count. */
    readonly read: (answer: JsonObject) => number | undefined
  }
}

/** The relay of one backend of one route. */
export type BackendRelay = { readonly relay: Relay; readonly urls: CallUrls }

export type OwnChat = {
  readonly own: OwnRequest
  readonly mode: 'plain' | 'stream'
  readonly dialect: Dialect
  /** The limit of output tokens to send: at most what is held. `null`: none. */
  readonly outputTokensMax: number | null
  /** To learn what would be dropped before it is known whose request it is: whatever is encrypted counts as sent. */
  readonly assumesSigned?: true
}

/** What to send for one request, and how to read the response to it. */
export type RelayedCall = {
  readonly json: JsonObject
  readonly headers: Readonly<Record<string, string>>
  /** The header with the version of the API that the client speaks: it replaces the provider's usual one. */
  readonly version?: Readonly<Record<string, string>>
  /** Parts of the client's request that are not sent, by the client's names. */
  readonly dropped: readonly string[]
  readonly reading: RelayReading
}

export type RelayReading = {
  /** For one stream. */
  readonly createRelayReader: () => RelayReader
  /** The meaning of a whole response of status 2xx, which is relayed as it came. */
  readonly readOwnAnswer: (answer: JsonObject) => OwnAnswer
}

/** `serverTools`: those that the provider ran although the request may not use them. */
export type OwnAnswer = { readonly read: WholeAnswer; readonly serverTools: readonly string[] }

/** Reads the events of one stream in OpenAI's terms, so that they can be measured and billed as a chat's. */
export type RelayReader = {
  /** Takes the JSON of one event. Never throws. */
  read(event: JsonObject): ProviderEvent
  /** Tools that the provider ran so far, although the request may not use them. */
  serverTools(): readonly string[]
}

export type EmbeddingsAdapter = {
  /** One call's body: `fields` are the parameters, without the texts or tokens in `items`. */
  readonly write: (request: AdaptedEmbeddings) => JsonObject
  /** A response of status 2xx: OpenAI's list of `data`, whose items are still unchecked, and the prompt's tokens. */
  readonly read: (text: string) => EmbeddingsReading
}

type AdaptedEmbeddings = {
  readonly fields: Map<string, unknown>
  readonly items: readonly unknown[]
  readonly format: 'float' | 'base64'
  readonly dialect: Dialect
}

type EmbeddingsReading =
  | { readonly kind: 'answer'; readonly data: readonly unknown[]; readonly promptTokens: unknown }
  | { readonly kind: 'failed'; readonly failure: Failure }

/** Whether a call could not be written: the request asks for something that this provider's API cannot express. */
export function isFailure<Written extends object>(written: Written | Failure): written is Failure {
  return 'recovery' in written
}
