#!/bin/bash
# The end-to-end tests on kind, where there is Docker: makes a cluster with an ingress controller, builds the image of the
# Dockerfile, runs `npm run e2e`, and removes the cluster unless KEEP=1. Needs docker, kind, kubectl, helm, and root: the
# tests kill processes of pods from outside.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cluster=model-gateway-e2e
work=$(mktemp -d)
finish() {
  rm -rf "$work"
  [ "${KEEP:-}" = 1 ] || kind delete cluster --name "$cluster"
}
trap finish EXIT

cat > "$work/kind.yaml" <<'YAML'
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes:
  - role: control-plane
    extraPortMappings:
      - { containerPort: 30080, hostPort: 18080, listenAddress: 127.0.0.1 }
YAML
export KUBECONFIG=$work/kubeconfig
kind create cluster --name "$cluster" --config "$work/kind.yaml" --wait 3m

docker build --tag e2e.local/model-gateway:a "$root"
docker tag e2e.local/model-gateway:a e2e.local/model-gateway:b
kind load docker-image --name "$cluster" e2e.local/model-gateway:a e2e.local/model-gateway:b

helm upgrade --install traefik traefik --repo https://traefik.github.io/charts --namespace ingress --create-namespace \
  --set service.type=NodePort --set ports.web.nodePort=30080 --wait
# The autoscaler's figures; kind's kubelets sign their certificates themselves.
helm upgrade --install metrics-server metrics-server --repo https://kubernetes-sigs.github.io/metrics-server \
  --namespace kube-system --set 'args={--kubelet-insecure-tls,--metric-resolution=15s}' --wait

# kind's pods have 10.244.0.0/16 as those of the one-node cluster do; images of the stores come from Docker Hub.
cat > "$work/values.yaml" <<'YAML'
image: { repository: e2e.local/model-gateway }
demo:
  postgres: { image: docker.io/library/postgres:17 }
  redis: { image: docker.io/library/redis:7 }
YAML
cd "$root"
E2E_VALUES="$root/test/e2e/one-node-values.yaml,$work/values.yaml" npm run e2e
