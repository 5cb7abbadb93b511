# rooftile in a container: docker build -t rooftile . && docker run --rm rooftile predict --gpu H200 --model gpt3-2.7b
# Nothing is downloaded but Debian's packages. The second stage holds the program and nothing that builds it.
FROM debian:12 AS build
COPY . /src/rooftile
RUN /src/rooftile/scripts/packages.sh /packages

FROM debian:12-slim
COPY --from=build /packages /packages
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends /packages/rooftile_*.deb /packages/rooftile-data_*.deb \
    && rm -rf /packages /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["rooftile"]
CMD ["--help"]
