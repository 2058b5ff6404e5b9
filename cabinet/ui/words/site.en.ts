import type { ru } from './site.ru.ts'

export const en: typeof ru = {
  lead: 'One address and one key for the models of many providers. The OpenAI protocol, prices in roubles, pay for what you use.',
  register: 'Create an account',
  catalogue: 'See the models',
  firstRequest: 'Your first request',
  examplePrompt: 'Hello!',
  priceFrom: 'Prices start at',
  perMillion: 'per 1M tokens.',
  modelsTitle: 'Models and prices',
  modelsLead: 'Per 1M tokens, in roubles.',
  allModels: 'The whole catalogue',
  model: 'Model',
  input: 'Input',
  output: 'Output',
  free: 'Free',
  noModels: 'The catalogue is empty: models appear here once they are connected.',
  reasonsTitle: 'What you get',
  reasons: [
    {
      title: 'Your code stays as it is',
      text: 'Change base_url and the key: any library that works with OpenAI will do, streaming included.',
    },
    {
      title: 'Spending stays within bounds',
      text: 'Every key has a daily budget, limits and a list of models of its own, and can be blocked at any moment.',
    },
    {
      title: 'Every kopeck is accounted for',
      text: 'Each request has a receipt with its tokens and exact cost, and a refusal says which limit was hit and when it resets.',
    },
  ],
}
