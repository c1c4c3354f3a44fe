# The dashboard, the recording proxy and the canary (docs/publishing.md): `docker build -t harmony-inspector .`
# tests/test_image.py runs these steps without Docker.
ARG BASE=docker.io/library/python:3.11-slim
FROM ${BASE}

# What it needs, as locked and checked by hash, in an environment of its own.
COPY requirements.lock /app/requirements.lock
RUN python3 -m venv /opt/venv
RUN /opt/venv/bin/pip install --no-cache-dir --require-hashes --disable-pip-version-check -r /app/requirements.lock

# The program itself; .dockerignore says what is left out.
COPY . /app
RUN printf '#!/opt/venv/bin/python\nimport sys\nfrom inspector.cli import main\nsys.exit(main())\n' >/opt/venv/bin/harmony-inspector
RUN chmod 755 /opt/venv/bin/harmony-inspector

# Captures are private to this user; 1000 is also the one of Hugging Face Spaces.
RUN useradd --uid 1000 --create-home inspector
RUN mkdir -p /data && chown 1000:1000 /data
USER 1000
WORKDIR /data
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 HARMONY_INSPECTOR_CAPTURES=/data/captures

# By other names than localhost and addresses it answers only if HARMONY_INSPECTOR_HOSTS has them. Without
# browser.serverAddress Streamlit asks a service for the machine's address. HEALTHCHECK is that of the dashboard.
EXPOSE 8501
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=5)"]
ENTRYPOINT ["harmony-inspector"]
CMD ["ui", "--host", "0.0.0.0", "--port", "8501", "--", "--browser.serverAddress", "localhost"]
