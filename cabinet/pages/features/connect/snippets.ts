import { curlOf, javaScriptOf, keyVariable, pythonOf, type SampleRequest } from '../../kit/sample-code.ts'

/** What a snippet is filled with. `key` may be a placeholder; the model must be one for chat. */
export type Connection = {
  /** Of the gateway, with `/v1`. */
  readonly baseUrl: string
  readonly key: string
  readonly model: string
  /** The question of the first request. */
  readonly prompt: string
}

/** A step of a configuration, in the order in which users do them. */
export type SnippetPart =
  | { readonly kind: 'install' | 'command'; readonly code: string }
  | { readonly kind: 'file'; readonly name: string; readonly code: string }
  /** What to type into a program's settings, by the names of its fields. */
  | { readonly kind: 'fields'; readonly fields: readonly (readonly [name: string, value: string])[] }

export type ConnectGroup = 'api' | 'sdk' | 'framework' | 'agent' | 'app'

type Client = {
  /** A proper name: the same in every language. */
  readonly name: string
  readonly group: ConnectGroup
  readonly partsOf: (connection: Connection) => readonly SnippetPart[]
}

export type ConnectClientId = keyof typeof connectClients

/** Every client with its ready configuration: nothing in it needs an edit once the key is real. Pure. */
export const connectClients = {
  curl: {
    name: 'curl',
    group: 'api',
    partsOf: ({ key, ...connection }) => [
      command(curlOf(connection.baseUrl, requestOf(connection), `Bearer ${key}`)),
    ],
  },
  'openai-python': {
    name: 'OpenAI: Python',
    group: 'sdk',
    partsOf: (connection) => [
      install('pip install openai'),
      file('example.py', pythonOf(connection.baseUrl, requestOf(connection))),
      command(withKey(connection, 'python example.py')),
    ],
  },
  'openai-node': {
    name: 'OpenAI: Node.js',
    group: 'sdk',
    partsOf: (connection) => [
      install('npm install openai'),
      file('example.mjs', javaScriptOf(connection.baseUrl, requestOf(connection))),
      command(withKey(connection, 'node example.mjs')),
    ],
  },
  'openai-go': {
    name: 'OpenAI: Go',
    group: 'sdk',
    partsOf: (connection) => [
      install('go mod init example\ngo get github.com/openai/openai-go/v3'),
      file('main.go', goOf(connection)),
      command(withKey(connection, 'go run .')),
    ],
  },
  'openai-java': {
    name: 'OpenAI: Java',
    group: 'sdk',
    partsOf: (connection) => [
      file('build.gradle', gradleBuild),
      file('src/main/java/Example.java', javaOf(connection)),
      command(withKey(connection, 'gradle run')),
    ],
  },
  'openai-dotnet': {
    name: 'OpenAI: C#',
    group: 'sdk',
    partsOf: (connection) => [
      install('dotnet new console\ndotnet add package OpenAI'),
      file('Program.cs', cSharpOf(connection)),
      command(withKey(connection, 'dotnet run')),
    ],
  },
  'anthropic-python': {
    name: 'Anthropic: Python',
    group: 'sdk',
    partsOf: (connection) => [
      install('pip install anthropic'),
      file('example.py', anthropicOf(connection)),
      command(withKey(connection, 'python example.py')),
    ],
  },
  'ai-sdk': {
    name: 'AI SDK',
    group: 'framework',
    partsOf: (connection) => [
      install('npm install ai @ai-sdk/openai'),
      file('example.mjs', aiSdkOf(connection)),
      command(withKey(connection, 'node example.mjs')),
    ],
  },
  langchain: {
    name: 'LangChain',
    group: 'framework',
    partsOf: (connection) => [
      install('pip install langchain-openai'),
      file('example.py', langChainOf(connection)),
      command(withKey(connection, 'python example.py')),
    ],
  },
  llamaindex: {
    name: 'LlamaIndex',
    group: 'framework',
    partsOf: (connection) => [
      install('pip install llama-index-llms-openai-like'),
      file('example.py', llamaIndexOf(connection)),
      command(withKey(connection, 'python example.py')),
    ],
  },
  codex: {
    name: 'Codex',
    group: 'agent',
    partsOf: (connection) => [
      install('npm install -g @openai/codex'),
      file('~/.codex/config.toml', codexConfigOf(connection)),
      command(withKey(connection, `codex exec --skip-git-repo-check ${shellWord(connection.prompt)}`)),
    ],
  },
  'claude-code': {
    name: 'Claude Code',
    group: 'agent',
    partsOf: (connection) => [
      install('npm install -g @anthropic-ai/claude-code'),
      command(
        [
          `export ANTHROPIC_BASE_URL=${shellWord(originOf(connection.baseUrl))}`,
          `export ANTHROPIC_AUTH_TOKEN=${shellWord(connection.key)}`,
          `claude --model ${shellWord(connection.model)} -p ${shellWord(connection.prompt)}`,
        ].join('\n'),
      ),
    ],
  },
  cursor: {
    name: 'Cursor',
    group: 'agent',
    partsOf: ({ baseUrl, key, model }) => [
      fields(['OpenAI API Key', key], ['Override OpenAI Base URL', baseUrl], ['Add Custom Model', model]),
    ],
  },
  cline: {
    name: 'Cline',
    group: 'agent',
    partsOf: ({ baseUrl, key, model }) => [
      fields(
        ['API Provider', 'OpenAI Compatible'],
        ['Base URL', baseUrl],
        ['OpenAI Compatible API Key', key],
        ['Model ID', model],
      ),
    ],
  },
  continue: {
    name: 'Continue',
    group: 'agent',
    partsOf: (connection) => [file('~/.continue/config.yaml', continueConfigOf(connection))],
  },
  'open-webui': {
    name: 'Open WebUI',
    group: 'app',
    partsOf: ({ baseUrl, key, model }) => [
      install('pip install open-webui'),
      command(
        [
          `export OPENAI_API_BASE_URL=${shellWord(baseUrl)}`,
          `export OPENAI_API_KEY=${shellWord(key)}`,
          `export DEFAULT_MODELS=${shellWord(model)}`,
          'open-webui serve',
        ].join('\n'),
      ),
    ],
  },
  n8n: {
    name: 'n8n',
    group: 'app',
    partsOf: ({ baseUrl, key, model }) => [
      fields(['API Key', key], ['Base URL', baseUrl], ['Model (By ID)', model]),
    ],
  },
} as const satisfies Readonly<Record<string, Client>>

/** The clients in the order of the page. */
export const connectClientIds = Object.keys(connectClients) as readonly ConnectClientId[]

const install = (code: string): SnippetPart => ({ kind: 'install', code })
const command = (code: string): SnippetPart => ({ kind: 'command', code })
const file = (name: string, code: string): SnippetPart => ({ kind: 'file', name, code })
const fields = (...named: readonly (readonly [string, string])[]): SnippetPart => ({
  kind: 'fields',
  fields: named,
})

function requestOf({ model, prompt }: Pick<Connection, 'model' | 'prompt'>): SampleRequest {
  return { path: '/chat/completions', body: { model, messages: [{ role: 'user', content: prompt }] } }
}

/** Programs read the key from the environment, so that it is in no file. */
const withKey = ({ key }: Connection, line: string) => `export ${keyVariable}=${shellWord(key)}\n${line}`

/** One word of a POSIX shell, whatever it contains. */
const shellWord = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** A literal in quotes: JSON's escapes are the same in Python, JavaScript, Go, Java, C#, TOML and YAML. */
const quoted = (text: string) => JSON.stringify(text)

/** Clients of Anthropic's API add `/v1` to the URL. */
const originOf = (baseUrl: string) => baseUrl.replace(/\/v1\/?$/, '')

const goOf = ({ baseUrl, model, prompt }: Connection) => `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	client := openai.NewClient(
		option.WithBaseURL(${quoted(baseUrl)}),
		option.WithAPIKey(os.Getenv("${keyVariable}")),
	)
	answer, err := client.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{
		Model:    ${quoted(model)},
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(${quoted(prompt)})},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Choices[0].Message.Content)
}`

const gradleBuild = `plugins { id 'application' }
repositories { mavenCentral() }
dependencies { implementation 'com.openai:openai-java:4.+' }
application { mainClass = 'Example' }`

const javaOf = ({
  baseUrl,
  model,
  prompt,
}: Connection) => `import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.models.chat.completions.ChatCompletionCreateParams;

public class Example {
    public static void main(String[] args) {
        var client = OpenAIOkHttpClient.builder()
            .baseUrl(${quoted(baseUrl)})
            .apiKey(System.getenv("${keyVariable}"))
            .build();
        var answer = client.chat().completions().create(
            ChatCompletionCreateParams.builder()
                .model(${quoted(model)})
                .addUserMessage(${quoted(prompt)})
                .build());
        System.out.println(answer.choices().get(0).message().content().orElse(""));
        client.close();
    }
}`

const cSharpOf = ({ baseUrl, model, prompt }: Connection) => `using System.ClientModel;
using OpenAI;
using OpenAI.Chat;

ChatClient client = new(
    model: ${quoted(model)},
    credential: new ApiKeyCredential(Environment.GetEnvironmentVariable("${keyVariable}")!),
    options: new OpenAIClientOptions { Endpoint = new Uri(${quoted(baseUrl)}) });

ChatCompletion answer = client.CompleteChat(${quoted(prompt)});
Console.WriteLine(answer.Content[0].Text);`

const anthropicOf = ({ baseUrl, model, prompt }: Connection) => `import os
from anthropic import Anthropic

client = Anthropic(
    base_url=${quoted(originOf(baseUrl))},
    auth_token=os.environ["${keyVariable}"],
)

answer = client.messages.create(
    model=${quoted(model)},
    max_tokens=1000,
    messages=[{"role": "user", "content": ${quoted(prompt)}}],
)

print("".join(block.text for block in answer.content if block.type == "text"))`

const aiSdkOf = ({ baseUrl, model, prompt }: Connection) => `import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'

const gateway = createOpenAI({
  baseURL: ${quoted(baseUrl)},
  apiKey: process.env.${keyVariable},
})

const { text } = await generateText({
  model: gateway.chat(${quoted(model)}),
  prompt: ${quoted(prompt)},
})

console.log(text)`

const langChainOf = ({ baseUrl, model, prompt }: Connection) => `import os
from langchain_openai import ChatOpenAI

chat = ChatOpenAI(
    base_url=${quoted(baseUrl)},
    api_key=os.environ["${keyVariable}"],
    model=${quoted(model)},
)

print(chat.invoke(${quoted(prompt)}).content)`

const llamaIndexOf = ({ baseUrl, model, prompt }: Connection) => `import os
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

llm = OpenAILike(
    api_base=${quoted(baseUrl)},
    api_key=os.environ["${keyVariable}"],
    model=${quoted(model)},
    is_chat_model=True,
    is_function_calling_model=True,
)

print(llm.chat([ChatMessage(role="user", content=${quoted(prompt)})]).message.content)`

const codexConfigOf = ({ baseUrl, model }: Connection) => `model = ${quoted(model)}
model_provider = "gateway"

[model_providers.gateway]
name = "Gateway"
base_url = ${quoted(baseUrl)}
env_key = "${keyVariable}"
wire_api = "responses"
stream_idle_timeout_ms = 600000`

const continueConfigOf = ({ baseUrl, key, model }: Connection) => `name: Model Gateway
version: 1.0.0
schema: v1
models:
  - name: ${quoted(model)}
    provider: openai
    model: ${quoted(model)}
    apiBase: ${quoted(baseUrl)}
    apiKey: ${quoted(key)}
    roles: [chat, edit, apply]`
