import type { ru } from './messages.ru.ts'

export const en: typeof ru = {
  lead: 'One URL and one key for models from many providers. OpenAI-compatible API, prices in rubles, pay for what you use.',
  register: 'Create an account',
  catalog: 'See the models',
  firstRequest: 'Your first request',
  examplePrompt: 'Hello!',
  priceFrom: 'Prices start at',
  perMillion: 'per 1M tokens.',
  modelsTitle: 'Models and prices',
  modelsLead: 'Per 1M tokens, in rubles.',
  allModels: 'Full catalog',
  model: 'Model',
  input: 'Input',
  output: 'Output',
  free: 'Free',
  noModels: 'The catalog is empty. Models appear here once they are connected.',
  reasonsTitle: 'What you get',
  reasons: [
    {
      title: 'Your code stays as it is',
      text: 'Change base_url and the key. Any library that works with OpenAI works here, including streaming.',
    },
    {
      title: 'Spending stays within bounds',
      text: 'Every key has its own daily budget, limits and list of models. You can block it at any time.',
    },
    {
      title: 'Every kopeck is accounted for',
      text: 'Each request has a receipt with its tokens and exact cost. Each rejection names the limit and when it resets.',
    },
  ],
}
