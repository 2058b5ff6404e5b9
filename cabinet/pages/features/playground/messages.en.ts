import { plural } from '../../i18n/plural.ts'
import type { ru } from './messages.ru.ts'

type Failure = Parameters<typeof ru.failure>[0]

const tokenForms = { one: 'token', other: 'tokens' }

/** Title and explanation of each gateway error, with the numbers of its body. */
const failures: Readonly<Record<string, (failure: Failure) => readonly [string, string]>> = {
  network: () => [
    'The gateway cannot be reached',
    'The request or its response was lost. Check your connection.',
  ],
  unreadable: () => ['Unexpected response from the gateway', 'Try again in a moment.'],
  insufficient_balance: () => ['The balance is used up', 'Top it up, and requests work again immediately.'],
  request_exceeds_balance: ({ limit, needed }) => [
    'The balance is too low',
    `This request may cost up to ${needed}, but only ${limit} is available. Reduce the answer length or top up.`,
  ],
  balance_reserved: () => [
    'The whole balance is reserved',
    'Other requests in progress hold it. Try again in a moment.',
  ],
  request_exceeds_budget: ({ limit, used, needed }) => [
    'The playground budget is too low',
    `This request may cost up to ${needed}, and ${used} of the daily budget of ${limit} is already spent. Reduce the answer length.`,
  ],
  daily_budget_exceeded: ({ limit, used }) => [
    "Today's playground budget is used up",
    `${used} of ${limit} was spent. Create your own key to continue.`,
  ],
  budget_reserved: ({ limit, used, held }) => [
    'The playground budget is reserved',
    `${used} of ${limit} was spent; requests in progress hold ${held}.`,
  ],
  rate_limit_exceeded: ({ limit, used }) => [
    'Too many requests',
    limit === undefined ? '' : `${used} within the last minute; the limit is ${limit}.`,
  ],
  request_too_large_for_tpm: ({ limit, needed }) => [
    'The request exceeds the limit per minute',
    `It needs up to ${needed} tokens, but the limit is ${limit} per minute. Shorten the text or the answer.`,
  ],
  api_key_blocked: () => ['The playground key is blocked', 'The owner of the organization can unblock it.'],
  expired_api_key: () => ['The playground key has expired', 'Ask again: a new key will be created.'],
  invalid_api_key: () => ['The playground key is not valid', 'Ask again: a new key will be created.'],
  model_not_found: () => ['This model is no longer available', 'Choose another one.'],
  ip_not_allowed: () => [
    'The key is not allowed from this address',
    'Its list of addresses can be changed on the page of the key.',
  ],
  model_not_allowed: () => ['This model is not allowed', 'Choose another one.'],
  context_length_exceeded: () => [
    'The conversation is too long',
    'It does not fit into the model’s context. Start over.',
  ],
  content_policy_violation: () => [
    'The provider rejected the request',
    'Its content violates the provider’s rules.',
  ],
  invalid_value: () => ['The model rejected the settings', 'Check the temperature and the answer length.'],
  upstream_error: () => ['The provider returned an error', 'Try again, or choose another model.'],
  upstream_overloaded: () => [
    'The provider is overloaded',
    'Try again in a moment, or choose another model.',
  ],
  upstream_timeout: () => ['The provider did not respond in time', 'Try again, or choose another model.'],
  service_unavailable: () => ['The gateway is temporarily unavailable', 'You were not charged.'],
}

export const en: typeof ru = {
  lead: 'Ask a model right here. The conversation exists only in this tab, until you close it, reload the page or sign out.',
  settings: 'Settings',
  model: 'Model',
  aboutModel: 'The model and its prices',
  moreSettings: 'More settings',
  system: 'System message',
  systemHint: 'The model’s role, and how it should answer.',
  temperature: 'Temperature',
  temperatureWrong: 'A number from 0 to 2',
  maxTokens: 'Answer tokens',
  maxTokensWrong: 'A whole number from 1',
  ofModel: 'Auto',
  conversation: 'Conversation',
  clear: 'Start over',
  nothingYet: 'The answer appears here. Requests are charged to the balance.',
  you: 'You',
  assistant: 'Model',
  waiting: 'The model is thinking…',
  emptyAnswer: 'The model returned an empty answer.',
  question: 'Your question',
  questionHint:
    'Enter sends, Shift + Enter adds a line. Do not enter personal data: the text is sent to the model’s provider.',
  settingsWrong: 'Correct the settings before you ask.',
  ask: 'Send',
  stop: 'Stop',
  stopped: 'Stopped. See the receipt for the cost.',
  stoppedEarly: 'Stopped before an answer arrived.',
  tokens: (input: number, output: number) =>
    `${plural('en', input, tokenForms)} in, ${plural('en', output, tokenForms)} out`,
  listing: 'Code',
  table: 'Table',
  receipt: 'Receipt',
  askAgain: 'Ask again',
  noKey: 'Could not create a key for the playground',
  topUp: 'Top up',
  resetsAt: 'Resets',
  failure: (failure: Failure): readonly [string, string] =>
    failures[failure.code]?.(failure) ?? ['The gateway rejected the request', ''],
  isKnown: (code: string) => failures[code] !== undefined,
  noModels: 'No model is available right now.',
  catalog: 'Open the catalog',
  code: 'The same in code',
  codeLead: 'Create a separate key for your program and pass it in an environment variable.',
  exampleQuestion: 'Hello! What can you do?',
}
