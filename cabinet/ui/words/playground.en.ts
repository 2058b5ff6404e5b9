import type { ru } from './playground.ru.ts'
import { plural } from './plural.ts'

type Failure = Parameters<typeof ru.failure>[0]

const tokenForms = { one: 'token', other: 'tokens' }

/** Title and explanation of each refusal of the gateway, with the numbers of its answer. */
const failures: Readonly<Record<string, (failure: Failure) => readonly [string, string]>> = {
  network: () => [
    'The gateway cannot be reached',
    'The request or its answer got lost. Check your connection.',
  ],
  unreadable: () => ['The gateway gave a strange answer', 'Try again in a moment.'],
  insufficient_balance: () => ['The balance is used up', 'Top it up, and requests work again at once.'],
  request_exceeds_balance: ({ limit, used }) => [
    'The balance is too low',
    `This request may cost up to ${used}, and ${limit} is available. Ask for a shorter answer, or top up.`,
  ],
  balance_reserved: () => [
    'The whole balance is reserved',
    'Other requests that are running hold it. Try again in a moment.',
  ],
  request_exceeds_budget: ({ limit, used }) => [
    'The budget of the playground is too low',
    `This request may cost up to ${used}, and ${limit} is left of the daily budget. Ask for a shorter answer.`,
  ],
  daily_budget_exceeded: ({ limit, used }) => [
    "Today's budget of the playground is used up",
    `${used} of ${limit} was spent. Create a key of your own to go on.`,
  ],
  budget_reserved: ({ limit, used }) => [
    'The budget of the playground is reserved',
    `${used} of ${limit} was spent, and running requests hold the rest.`,
  ],
  rate_limit_exceeded: ({ limit, used }) => [
    'Too many requests',
    limit === undefined ? '' : `${used} within the last minute, and the limit is ${limit}.`,
  ],
  request_too_large_for_tpm: ({ limit, used }) => [
    'The request is above the limit of a minute',
    `It needs up to ${used} tokens, and ${limit} a minute are allowed. Shorten the text or the answer.`,
  ],
  api_key_blocked: () => [
    'The key of the playground is blocked',
    'The owner of the organization can unblock it.',
  ],
  expired_api_key: () => ['The key of the playground has ended', 'Ask once more: there will be a new one.'],
  invalid_api_key: () => [
    'The key of the playground does not work',
    'Ask once more: there will be a new one.',
  ],
  model_not_found: () => ['This model is not available any more', 'Choose another one.'],
  model_not_allowed: () => ['This model is not allowed', 'Choose another one.'],
  context_length_exceeded: () => [
    'The conversation is too long',
    'It does not fit into the context of the model. Start anew.',
  ],
  content_policy_violation: () => [
    'The provider declined the request',
    'Its content is against their rules.',
  ],
  invalid_value: () => ['The model did not take the settings', 'Check temperature and length of the answer.'],
  upstream_error: () => ['The provider answered with an error', 'Try again, or choose another model.'],
  upstream_overloaded: () => [
    'The provider is overloaded',
    'Try again in a moment, or choose another model.',
  ],
  upstream_timeout: () => ['The provider did not answer in time', 'Try again, or choose another model.'],
  service_unavailable: () => ['The gateway is unavailable for a moment', 'You were not charged.'],
}

export const en: typeof ru = {
  lead: 'Ask a model right here. The conversation is kept on this page alone, and is gone when you close it.',
  settings: 'Settings',
  model: 'Model',
  aboutModel: 'The model and its prices',
  moreSettings: 'More settings',
  system: 'System message',
  systemHint: 'Who the model should be, and how it answers.',
  temperature: 'Temperature',
  temperatureWrong: 'A number from 0 to 2',
  maxTokens: 'Answer tokens',
  maxTokensWrong: 'A whole number from 1',
  ofModel: 'Auto',
  conversation: 'Conversation',
  clear: 'Start anew',
  nothingYet: 'The answer appears here. Requests are paid from the balance.',
  you: 'You',
  assistant: 'Model',
  waiting: 'The model is thinking…',
  emptyAnswer: 'The model said nothing.',
  question: 'Your question',
  questionHint:
    'Enter sends, Shift + Enter is a new line. Type no personal data: the text goes to the provider of the model.',
  settingsWrong: 'Correct the settings before you ask.',
  ask: 'Send',
  stop: 'Stop',
  stopped: 'Stopped. The receipt has the cost.',
  stoppedEarly: 'Stopped before an answer came.',
  tokens: (input: number, output: number) =>
    `${plural('en', input, tokenForms)} in, ${plural('en', output, tokenForms)} out`,
  receipt: 'Receipt',
  askAgain: 'Ask again',
  noKey: 'A key for the playground could not be made',
  topUp: 'Top up',
  resetsAt: 'Resets',
  failure: (failure: Failure): readonly [string, string] =>
    failures[failure.code]?.(failure) ?? ['The gateway refused the request', ''],
  isKnown: (code: string) => failures[code] !== undefined,
  noModels: 'There is no model to talk to right now.',
  catalogue: 'Open the catalogue',
  code: 'The same in code',
  codeLead: 'Create a key of its own for your program, and pass it in an environment variable.',
  exampleQuestion: 'Hello! What can you do?',
}
