#!/usr/bin/env bash
# Unpacks Debian's llama-server into a folder, without installing it: for machines whose own release has none.
#
#   tools/debian_llama_server.sh DIR [SUITE]
#   export HARMONY_INSPECTOR_LLAMA_SERVER=DIR/llama-server
#
# apt resolves, downloads and verifies the packages with sources and states of its own below DIR; this machine's are
# not touched, and no root is needed. The binary runs with the C library of its own release. 75 MB.
set -euo pipefail
[[ $# -ge 1 ]] || { sed -n '2,5s/^# \?//p' "$0" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd) suite=${2:-forky}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
state=$folder/apt
mkdir -p "$state"/{lists,archives}/partial "$state/empty"
: >"$state/status"
echo "deb [signed-by=$keys] http://deb.debian.org/debian $suite main" >"$state/sources.list"
cat >"$state/apt.conf" <<CONFIGURATION
Dir::State "$state"; Dir::State::status "$state/status"; Dir::State::lists "$state/lists";
Dir::Cache "$state"; Dir::Cache::archives "$state/archives";
Dir::Etc::sourcelist "$state/sources.list"; Dir::Etc::sourceparts "$state/empty"; Dir::Etc::main "/dev/null";
Dir::Etc::parts "$state/empty"; Dir::Etc::preferencesparts "$state/empty"; Dir::Etc::trustedparts "$state/empty";
Acquire::Languages "none"; APT::Install-Recommends "false"; APT::Sandbox::User "";
CONFIGURATION
# The signature is checked; the date is not, because mirrors may keep an old state.
export APT_CONFIG=$state/apt.conf
apt-get -qq -o Acquire::Check-Valid-Until=false update
apt-get -qq -y --download-only install llama.cpp-tools >/dev/null
rm -rf "$folder/root"
mkdir "$folder/root"
for package in "$state"/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
libraries=$(dirname "$(find "$folder/root/usr/lib" -name 'libllama.so.0' -print -quit)")
loader=$(find "$libraries" -name 'ld-linux-*' -print -quit)
backend=$(find "$libraries/ggml" -name 'libggml-cpu-x64.so' -print -quit)
# A backend must be named: it is looked for beside the running file, which is the loader.
cat >"$folder/llama-server" <<SCRIPT
#!/bin/sh
GGML_BACKEND_PATH='$backend' exec '$loader' --argv0 llama-server \\
  --library-path '$libraries:$libraries/llama' '$folder/root/usr/bin/llama-server' "\$@"
SCRIPT
chmod +x "$folder/llama-server"
rm -rf "$state"
"$folder/llama-server" --version 2>&1
